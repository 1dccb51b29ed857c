"""Studies that run many simulations or measurements: experiments, calibration, fits, validation, comparison."""
