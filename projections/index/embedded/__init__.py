"""TODO projections/index/embedded."""
