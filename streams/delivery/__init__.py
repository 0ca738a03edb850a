"""TODO streams/delivery."""
