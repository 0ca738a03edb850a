"""The other workers of a group: who they are, how they are asked, and operations over all partitions.

1. `membership` takes over the place in the Kafka group from the data directory's former process; `dead_peers` has the
   group remove workers whose processes are gone.
2. `peers` knows which worker has a partition, and sends requests there: one hop, with time-outs. `trust` says how
   workers recognise each other: `peer_hosts` which hosts they may have, `proof` how a request is signed and verified.
   Proofs are verified in `mnemolog.http.peer_door`.
3. `scatter_gather` does an operation here and at all peers, and returns the answers when they cover every partition.
   `mnemolog.operations` builds on it; the routes that answer peers are `mnemolog.http.routes.internal`.
4. `tenant_memories` lists and counts the memories of all users of a tenant.
5. `shard_source` copies a shard file from a peer, so that a partition that moves need not be folded anew.
"""
