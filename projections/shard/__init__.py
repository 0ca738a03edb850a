"""A shard: one partition's folds in one SQLite file, with the offset of each topic up to which it has folded.

1. `shard.Shard` reads records from the log and folds them; fold and offset are one transaction.
2. `ledger` folds decisions: `user_states` caches states, `rows` are theirs.
3. `observations` folds the input topics and the inbox, `dead_letters` what was put aside; `observation_lookup` answers
   how far an observation has come, `turn_statistics` what is counted of turns.
4. `tables` opens the file, `wal` moves its write-ahead log into it, `errors` says what can be wrong with it and what
   to do; `log_position` checks whether the file is a fold of the log at hand.
5. `snapshot` reads a shard as of one commit, at length, while the shard goes on.
"""
