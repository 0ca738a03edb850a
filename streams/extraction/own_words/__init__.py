"""The speaker's own sentences as memories: what everybody gets who has no model.

`splitting` cuts a turn into sentences, word for word. `statements` makes of each what may be remembered: with the keys
that the rules find in it (`others`: also about relatives, friends and pets), its day, and what it needs to stand alone.
`extractor` keeps those that last, by the heads of the built-in encoder (`projections/embedding/heads.py`).
"""
