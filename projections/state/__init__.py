"""TODO projections/state."""
