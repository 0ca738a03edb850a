"""Delivery: the tools with which agents handle records one by one without losing any.

`delivery` is a record with its acknowledgement, as an agent receives it. `keyed_pool` runs the jobs of many users
concurrently and those of one user in order. A `fair_queue` and `fair_slots` serve tenants in turns. `retry` repeats an
action while the log or a shard is down. `dead_letter` appends records that cannot be read or handled to the dead
letters, and the agent continues. `priority` gives callers who wait for an append precedence over the agents on the
event loop.
"""
