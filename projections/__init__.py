"""The read side: everything that can be queried is a fold of the log.

From the bottom up:
1. `text` splits texts into tokens, and `dates` finds the days and hours that they name. `state` is the knowledge about
   one user, and the pure fold of decisions into it. `encrypted_files` opens SQLite files, `stale_bytes` removes erased
   data from them, `durable_files` replaces small files. `user_cache` bounds the memory for values computed per user.
   `turns` divides long work into steps, `child_process` runs modules in processes of their own, `http_session` connects
   to endpoints. `log_limit` logs repeated messages once a minute.
2. `shard` keeps one partition's folds in a SQLite file; `embedding` turns texts into vectors.
3. `profile` reads a user's state: attributes, dates, habits, relationship, and memories in their order.
4. `index` finds memories by words and by meaning, embedded or on a server; `index.sync` updates it from the shards.
5. `partitions` knows which shards this worker holds, and moves them between workers.
6. `queries` answers: search, lists, history, contexts, exports.
A projection does not depend on its callers.
"""
