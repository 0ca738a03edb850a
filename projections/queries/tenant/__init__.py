"""Questions about all users of a tenant, answered from a shard's file without loading each user's state.

`memories` lists and counts memories, `model_usage` adds up the cost of models, and `rejected_windows` finds the windows
that can be extracted again. Each runs in a thread, with its own connection.
"""
