"""A worker: one process with the log, the three agents, the shards, and everything that HTTP routes call.

1. `worker` is the composition root: `start` opens the log, builds every part, joins the group and starts the
   background tasks; `stop` undoes these steps in reverse order.
2. `components` builds the parts that the settings choose: embedder, index, registry and schedulers; `extractors` builds
   the extractors.
3. `group` holds the partitions that the worker is assigned, and gives up those that are revoked.
4. `background` runs tasks until the worker stops, including those that keep the workers of a group in step.
5. `metrics` counts events as they happen; `gauges` reads totals when Prometheus scrapes them; `lag` reports the backlog
   of each partition.
6. `greeting` has the model greet a returning user.
`mnemolog.server` puts a worker and its HTTP interface into one event loop.
"""
