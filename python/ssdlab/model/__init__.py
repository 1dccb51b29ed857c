"""Objects of the user: configurations, traces, simulations and their results."""
