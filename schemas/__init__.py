"""The contract: messages and their encoding. Nothing here knows who reads or writes them.

`messages` has a class for each message; `codec` encodes them as single-object Avro after the released files of
`avro/`, by `avro_writer`, and decodes them, with `decoded_cache`. `inputs` reads what producers publish, and
`vocabulary` has the closed lists of words. `topics` names where messages travel, and how large they may be. `log` is
the protocol of an engine.
`identity` derives every id from its cause. `instant` and `text` are about times and texts. `fast_init` builds messages.
"""
