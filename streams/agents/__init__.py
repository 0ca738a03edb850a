"""TODO streams/agents."""
