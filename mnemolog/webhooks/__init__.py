"""Webhooks: changes of memories, posted to a URL.

`registered.Webhooks` folds the registered webhooks and the progress of each. `deliveries.Deliveries` delivers the
changes: each webhook belongs to the worker that holds a certain partition. That worker reads `mnemolog/changes/feed.py`
like any caller, posts one page at a time, and continues once the receiver has accepted it. `signature` signs the
deliveries, and `receivers` posts them, to a private address only if that is allowed.
"""
