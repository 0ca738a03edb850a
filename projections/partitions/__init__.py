"""Partitions: which ones this worker has, and the shards of those that it holds.

`assignment` says which partitions are assigned, held and ready, and since when; work that waits takes a `Lease` from
it. `shards` opens, folds and looks up the shards of those held: almost everything that reads memories begins there.

A partition that comes: `Shards.assign`, then `hold`, which fetches another worker's file where that saves much
(`receiver`, from that worker's `sender`), folds the rest of the log, and marks what the index missed. One that goes:
`release`; its shard stays open until an assignment without it, and can be sent to its next worker after that.

What is far behind is folded in a process of its own: `fold_process` starts it and hands it the records of the log
(`handed_records`), `fold_program` is what it runs.

`index_source` gives the index its entries from these shards. `generation` opens the files of a folder, which a rebuild
fills beside the live one. `retention` drops observations that the log no longer holds.
"""
