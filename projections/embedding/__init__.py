"""TODO projections/embedding."""
