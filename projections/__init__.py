"""The read side: everything that can be queried is a fold of the log.

`memory` is what is known of a user, `evolve` the fold that arbitrates which decisions count and what they change.
`shard` keeps one partition's folds in a SQLite file (`ledger_fold`: memories; `turns`: observations and how far they
came), `shards` all of a worker's, and the index after them. `embedder` and `index` are protocols; `builtin_embedder`,
`openai_embedder` and `embedded_index` keep them. `queries` answers, with `ranking`, `profile`, `history`, `time_travel`
and `views`; `digest` says whether two folds are the same. A projection never knows who asks.
"""
