"""What operators run while a worker serves: drain, digests, ticks, rebuilds, dead letters.

Each file is one operation, and a class with two kinds of methods: those named `local` do this worker's share, the
others ask all workers through `mnemolog.cluster.scatter_gather` and add the answers up.

A rebuild has three files: `rebuild_coordinator` plans it and has all workers build, then switch; `rebuild` builds and
verifies this worker's share; `generations` keeps the numbered folders of shards and the name of the active one. Another
encoder's vectors have four files: `reembed_coordinator` asks all workers, `encoding_builder` makes this worker's share,
`reembedding` lets it serve, `encoder_comparison` compares both by questions; the switch is a rebuild of the index.
Erasures have a folder, `erasing`, and so has what checks that the log is whole, `integrity`. The routes are
`mnemolog.http.routes.admin` for operators and `mnemolog.http.routes.internal` for other workers.
"""
