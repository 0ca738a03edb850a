"""Diagnostics: what `mnemolog doctor` and `GET /v1/admin/checks` report about each component.

`checks` tries each configured component (data directory, log, shards, index, registry, extractor, embedder) within a
few seconds, and reports its state and how to correct any fault. It reaches the index by the probe in its entry of
`projections/index/registry.py`. `server_checks` asks another server whether it is ready and what it reaches itself.
`liveness` asks whether a worker answers at a URL, for commands that look for a running one.
"""
