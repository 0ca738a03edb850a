"""TODO projections/text."""
