"""Diagnostics: what `mnemolog doctor` and `GET /v1/admin/checks` say of each component.

`checks` reaches what the settings name (data directory, log, shards, index, registry, extractor, embedder), each within
a few seconds, and says how it is and what to do where it is wrong. The index is reached by the probe of its entry in
`projections/index/registry.py`. `server_checks` asks a server elsewhere whether it is ready and
what it reaches itself. `liveness` asks whether a worker answers at a URL, for commands that find one running.
"""
