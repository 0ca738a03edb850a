"""The agents: each receives records of some topics, handles them, and acknowledges what is durable.

`observe` (input topics) holds open windows, has closed ones extracted and appends the answers to the inbox. `remember`
(inbox) decides on one item at a time for each user and appends to the ledger. `project` (ledger) brings shards and
index after it. `app` runs the three under Faust, whose pauses `faust_pauses` spares them; no other file here knows it.

`tick_application` decides a tick for all users of a partition. `pending` keeps what `observe` has not acknowledged
yet. `reencode` appends registry Avro again in our own
encoding, `retention` removes old observations when a tick says so.
"""
