"""Partitions: those assigned to this worker, and the shards of those that it holds.

`assignment` records which partitions are assigned, held and ready, and since when; work that waits takes a `Lease` from
it. `shards` looks up and folds the shards of those held: almost every read of memories begins there, most often with
`held`, a user together with the shard. `users` lists the users that this worker decides about.

When a partition arrives, `takeover` assigns it, fetches another worker's file if that saves much (`receiver`, from
that worker's `sender`), folds the rest of the log (`catch_up`), checks that the ledger is what was appended
(`log_comparison`), marks what the index missed, and holds it. When a partition leaves, `Assignment.release` ends its
leases; its shard stays open until an assignment without it, and can be sent to its next worker after that.

A shard that is far behind is folded in a process of its own: `fold_process` starts it and hands it the records of the
log (`handed_records`); `fold_program` is the program that it runs.

`index_source` gives the index its entries from these shards. `generation` opens the files of a folder, which a rebuild
fills beside the live one. `retention` drops observations that the log no longer holds.
"""
