"""The agents: each receives records of some topics, handles them, and acknowledges what is durable.

`observe` (input topics) puts turns into `open_windows`; closed ones go to the `extraction_queue`, which appends the
answers to the inbox. `remember` (inbox) decides on one item at a time for each user and appends to the ledger.
`project` (ledger) brings shards and index after it. `app` runs the three under Faust, whose pauses `faust_pauses`
spares them; no other file here knows Faust.

`pending_observations` keeps the observations that `observe` has not acknowledged yet, and `earlier_turns` returns the
turns to which a window's first words refer. `erasure_gate` holds back answers while a user is being erased;
`resumption` extracts the surviving words again. `reencode` appends registry Avro again in our own encoding.

`immediate_decisions` decides without a delivery where one worker has the log to itself. `tick_application` decides a
tick for all users of a partition. `retention` removes old observations when a tick says so.
"""
