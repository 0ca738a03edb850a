"""The operations that an operator runs while a worker serves: drain, digests, ticks, rebuilds, dead letters.

Each file is one operation, and a class with two kinds of methods: those named `local` do this worker's share, the
others ask all workers through `mnemolog.cluster.scatter_gather` and add up the answers.

A rebuild has three files: `rebuild_coordinator` plans it and makes all workers build, then switch; `rebuild` builds and
verifies this worker's share; `generations` keeps the numbered folders of shards and the name of the active one. A
reembedding has four files: `reembed_coordinator` asks all workers, `encoding_builder` computes this worker's share of
another encoder's vectors, `reembedding` lets that encoder serve, `encoder_comparison` compares both by questions; the
switch is a rebuild of the index. Erasures are in the folder `erasing`, and checks that the log is whole in
`integrity`. The routes are `mnemolog.http.routes.admin` for operators and `mnemolog.http.routes.internal` for other
workers.
"""
