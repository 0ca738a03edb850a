"""TODO streams/registry."""
