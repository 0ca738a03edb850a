"""TODO projections/index/weaviate."""
