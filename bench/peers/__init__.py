"""Measured side by side with other memory systems, in the same minutes: `make bench-peers`, by hand only.

`compare` runs the endpoint, our worker and the peers in turns. `peer_adds` runs in a peer's own environment, which the
Makefile makes in `build/peers`, and calls it as its users do: within their process.
"""
