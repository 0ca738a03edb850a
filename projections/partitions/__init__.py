"""TODO projections/partitions."""
