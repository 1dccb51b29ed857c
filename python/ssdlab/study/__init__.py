"""Many simulations or measurements: experiments, calibration, fits, validation, comparison."""
