"""Indexes: similarity search over active memories. An index holds a copy; the shards are the source of truth.

`protocol` is the contract of every index; `registry` lists the adapters, one line each, and `adapter` defines such an
entry (schemes, secret, package, factory, probe). An index is a folder: `embedded` searches in this process,
`weaviate` on a server; `remote` has the parts that every index on a server needs. `entries` builds index entries from
memories.

The path of a change: a shard folds it, `sync` queues it in `backlog`, `changes` reads the entries to put or remove,
`durability` tracks the writes that the index may still lose, and `next_generation` gets them too during a rebuild. The
path of a search: `sync` brings the index to the user's last change, the index returns two legs, `centre` identifies
hits that are near to everything, and `projections/queries` ranks the hits after comparing them with the shard.

Another index: docs/contributing/index.md.
"""
