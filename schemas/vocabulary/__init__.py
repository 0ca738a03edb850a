"""Closed lists of words that all packages share.

`words` has those of memories and settings, `attributes` the slots of the profile and when two values are the same,
`refusals` the words that the reason of a refused command begins with.
"""
