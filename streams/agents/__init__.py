"""The agents: each receives records of some topics, handles them, and acknowledges what is durable.

`observe` (input topics) puts turns into `open_windows`; closed ones go to the `extraction_queue`, which appends the
answers to the inbox. `remember` (inbox) decides on one item at a time for each user and appends to the ledger.
`project` (ledger) brings shards and index after it. `app` runs the three under Faust, which `lean_faust` loads; no
other file here knows Faust.

`pending_observations` keeps what `observe` has not acknowledged yet, and `earlier_turns` returns what a window's first
words refer to. `erasure_gate` holds back answers while a user is being erased; `resumption` has what outlived that
extracted again. `reencode` appends registry Avro again in our own encoding.

`immediate_decisions` decides without a delivery where one worker has the log to itself. `tick_application` decides a
tick for all users of a partition. `inbox` checks an inbox record before anything is decided on it, `retention` removes
old observations when a tick says so.
"""
