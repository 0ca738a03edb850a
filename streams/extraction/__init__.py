"""TODO streams/extraction."""
