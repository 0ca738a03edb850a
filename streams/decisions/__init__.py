"""TODO streams/decisions."""
