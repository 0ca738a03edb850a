"""A worker: one process with the log, the three agents, the shards, and everything that HTTP routes call.

1. `worker` is the composition root: `start` opens the log, builds every part, joins the group and starts the
   background tasks; `stop` undoes it, the newest first.
2. `components` makes the parts that settings choose: embedder, index, registry, schedulers; `extractors` those that
   extract.
3. `group` holds the partitions that the worker is assigned, and gives up those that are revoked.
4. `background` runs tasks until the worker stops, among them those that keep a group's workers in step.
5. `metrics` counts as things happen; `gauges` reads totals when it is scraped; `lag` says
   how far behind each partition is.
6. `greeting` has the model greet a user who comes back.
`mnemolog.server` puts a worker and its HTTP interface into one event loop.
"""
