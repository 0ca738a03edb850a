"""Rows of a shard's file: how the parts of a user's state are stored, read and counted.

`memories` has a row a memory, `wakes` those of reminders and wakes, `intimacies` one an agent.
`published_turns` and `session_turns` read turns, `damage` what is wrong with the ledger.
`projections.shard.user_states` makes states of them, `projections.shard.ledger` writes what a decision changes.
"""
