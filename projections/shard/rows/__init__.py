"""Rows of a shard's file: the parts of a user's state as they are stored, read and counted.

`memories` has one row for each memory, `wakes` the rows of reminders and wakes, `intimacies` one row for each agent.
`published_turns` and `session_turns` read turns, `damage` the damage to the ledger.
`projections.shard.user_states` builds states from them, `projections.shard.ledger` writes the changes of decisions.
"""
