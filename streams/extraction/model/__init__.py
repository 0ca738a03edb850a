"""TODO streams/extraction/model."""
