"""What every agent needs to handle records one by one and lose none.

`delivery` is a record with its acknowledgement, as an agent receives it. `keyed_pool` runs the jobs of many users
concurrently and those of one user in order. In a `fair_queue` tenants have turns, and so they have at the slots of
`fair_slots`. `retry` repeats an action while the log or a shard is down. `dead_letter` appends what cannot be read or
handled to the dead letters, and the agent goes on. `priority` lets callers who wait for an append go before the agents
on the one event loop.
"""
