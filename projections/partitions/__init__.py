"""Partitions: which ones this worker has, and the shards of those that it holds.

`assignment` says which partitions are assigned, held and ready, and since when; work that waits takes a `Lease` from
it. `shards` looks up and folds the shards of those held: almost everything that reads memories begins there, and most
of it with `held`, a user whose shard was found. `users` lists those that this worker decides about.

A partition that comes: `takeover` assigns it, fetches another worker's file where that saves much (`receiver`, from
that worker's `sender`), folds the rest of the log (`catch_up`), looks whether the ledger is what was appended
(`log_comparison`), marks what the index missed, and holds it. One that goes: `Assignment.release`; its shard stays open
until an assignment without it, and can be sent to its next worker after that.

What is far behind is folded in a process of its own: `fold_process` starts it and hands it the records of the log
(`handed_records`), `fold_program` is what it runs.

`index_source` gives the index its entries from these shards. `generation` opens the files of a folder, which a rebuild
fills beside the live one. `retention` drops observations that the log no longer holds.
"""
