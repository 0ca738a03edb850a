"""What operators run while a worker serves: drain, digests, ticks, rebuilds, dead letters.

Each file is one operation, and a class with two kinds of methods: those named `local` do the share of this worker, the
others ask all workers through `mnemolog.cluster.scatter_gather` and add the answers up.

A rebuild has three files: `rebuild_coordinator` plans it and has all workers build, then switch; `rebuild` builds and
verifies this worker's share; `generations` keeps the numbered folders of shards and the name of the active one.
The routes are `mnemolog.http.routes.admin` for operators and `mnemolog.http.routes.internal` for other workers.
"""
