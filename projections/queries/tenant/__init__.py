"""Questions about all users of a tenant, answered from a shard's file without loading each user's state.

`memories` lists and counts memories, `model_usage` adds up what the model cost, and `rejected_windows` finds what can
be extracted again. Each runs in a thread, with a connection of its own.
"""
