"""Diagnostics: what `mnemolog doctor` and `GET /v1/admin/checks` report about each component.

`checks` tries each component that the settings name (data directory, log, shards, index, registry, extractor, embedder)
within a few seconds, and says how it is and how to fix what is wrong. It reaches the index by the probe in its entry of
`projections/index/registry.py`. `server_checks` asks another server whether it is ready and what it reaches itself.
`liveness` asks whether a worker answers at a URL, for commands that find one running.
"""
