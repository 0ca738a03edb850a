"""Webhooks: changes of memories, posted to a URL.

`registered.Webhooks` folds which webhooks there are and how far each has come. `deliveries.Deliveries` posts: a webhook
belongs to the worker that holds one particular partition, which reads `mnemolog/changes/feed.py` like any caller, posts
a page at a time, and goes on once the receiver has taken it. `signature` signs what is posted, and `receivers` posts
it, to a private address only if that was allowed.
"""
