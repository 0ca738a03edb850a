"""TODO projections/queries."""
