"""TODO projections/shard."""
