"""The other workers of a group: membership, requests between workers, and operations over all partitions.

1. `membership` takes over the membership of the data directory's former process in the Kafka group; `dead_peers`
   removes workers whose processes are gone from the group.
2. `peers` knows which worker holds a partition, and sends requests to it: one hop, with time-outs. `trust` defines how
   workers authenticate each other: `peer_hosts` lists the allowed hosts, and `proof` signs and verifies requests.
   Proofs are verified in `mnemolog.http.peer_door`.
3. `scatter_gather` runs an operation here and at all peers, and returns the answers if they cover every partition.
   `mnemolog.operations` builds on it; the routes that answer peers are `mnemolog.http.routes.internal`.
4. `tenant_memories` lists and counts the memories of all users of a tenant.
5. `shard_source` copies a shard file from a peer, so that a partition that moves need not be folded again.
"""
