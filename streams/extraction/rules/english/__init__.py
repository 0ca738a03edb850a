"""TODO streams/extraction/rules/english."""
