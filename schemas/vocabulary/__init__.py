"""Closed lists of words: those of memories and settings (`words`), the profile's `attributes`, and `refusals`."""
