"""TODO streams/ticks."""
