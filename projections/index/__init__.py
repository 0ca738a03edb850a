"""TODO projections/index."""
