"""Indexes: similarity search over active memories, beside the shards, which say what is true.

`protocol` is what every index promises; `registry` lists the adapters, one line each, and `adapter` says what such an
entry has (schemes, secret, package, factory, probe). An index is a folder: `embedded` searches in this process,
`weaviate` on a server; `remote` has what every index on a server needs. `entries` makes index entries of memories.

The path of a change: a shard folds it, `sync` queues it in `backlog`, `changes` reads what to put or remove,
`durability` keeps what the index may still lose, and `next_generation` gets it too during a rebuild. The path of a
search: `sync` brings the index to the user's last change, the index returns two legs, `centre` tells which hits are
near to everything, and `projections/queries` ranks them against the shard.

Another index: docs/contributing/index.md.
"""
