"""Objects that users work with: configurations, traces, simulations and their results."""
