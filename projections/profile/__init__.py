"""TODO projections/profile."""
