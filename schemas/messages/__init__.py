"""TODO schemas/messages."""
