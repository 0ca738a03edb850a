"""TODO schemas/vocabulary."""
