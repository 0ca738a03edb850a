"""Comparisons with other memory systems on the same machine at the same time: `make bench-peers`, by hand only.

`compare` runs the endpoint, our worker and the peers in turns. `peer_adds` runs in a peer's own environment, which the
Makefile makes in `build/peers`, and calls the peer as its users do, in the same process.
"""
