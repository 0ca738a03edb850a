"""Conditions: the filter language of requests, over every field of a memory and its metadata.

1. `parser` reads the JSON of a request into a condition, within bounds, and reports the place of an error.
2. `condition` is the result: it decides whether a memory meets it at an instant.
3. `operators` compare one value; `fields` define the values that a memory has.
4. `columns` holds the fields of all memories of a user as columns, for searches.
"""
