"""The contract: what happened, and how it is spelt in bytes. Nothing here knows who reads or writes.

`envelope` stands in every message; `observations`, `inbox`, `events` and `decision` are the closed unions of messages
(`waking` has those about wakes); `codec` turns them into single-object Avro after the files of `avro/` and back;
`topics` names where they travel; `identity` derives every id from its cause; `log` is what an engine must offer;
`clock` is where time comes from.
"""
