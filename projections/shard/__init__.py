"""A shard: one partition's folds in one SQLite file, with the offset up to which each topic has been folded.

1. `shard.Shard` reads records from the log and folds them; fold and offset are one transaction.
2. `ledger` folds decisions; `user_states` caches the users' states, and `rows` stores them.
3. `observations` folds the input topics and the inbox, `dead_letters` the dead letters; `observation_lookup` returns
   the progress of an observation, `turn_statistics` the statistics of turns.
4. `tables` opens the file, `wal` moves its write-ahead log into it, `errors` names its faults and their remedies;
   `log_position` checks whether the file is a fold of the log at hand.
5. `snapshot` reads a shard as of one commit, for as long as it takes, while the shard continues to fold.
"""
