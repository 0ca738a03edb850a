"""TODO streams/decisions/duplicates."""
