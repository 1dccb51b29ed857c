"""Many simulations or measurements: experiments, calibration, validation, comparison."""
