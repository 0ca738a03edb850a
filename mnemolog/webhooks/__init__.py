"""Webhooks: changes of memories, posted to whoever asked for them.

`registered.Webhooks` folds what was asked for and how far each webhook has come. `deliveries.Deliveries` posts: a
webhook belongs to the worker that holds one certain partition, which reads `mnemolog/changes/feed.py` like any caller,
posts a page at a time, and goes on behind it when the receiver has taken it. `signature` signs what is posted, and
`receivers` posts it, to no private address unless it was allowed.
"""
