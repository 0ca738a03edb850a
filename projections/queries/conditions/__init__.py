"""Conditions: the filter language of requests, over every field of a memory and its metadata.

1. `parser` reads the JSON of a request into a condition, within bounds, and says where it is wrong.
2. `condition` is what was read: it tells whether a memory meets it at an instant.
3. `operators` compare one value; `fields` say which values a memory has.
4. `columns` has the fields of all memories of a user side by side, for searches.
"""
