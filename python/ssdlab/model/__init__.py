"""What a user holds: configurations, traces, simulations and their results."""
