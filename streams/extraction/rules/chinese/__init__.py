"""TODO streams/extraction/rules/chinese."""
