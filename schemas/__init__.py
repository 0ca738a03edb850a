"""The contract: messages and their encoding, independent of their readers and writers.

`messages` has a class for each message. `codec` encodes them as single-object Avro by the released files of `avro/`,
with `avro_writer`, and decodes them, with `bounded_cache`. `inputs` reads what producers publish, and `vocabulary` has
the closed lists of words. `topics` names the topics and their limits. `log` is the protocol of an engine. `identity`
derives every id from its cause. `policy` and `redaction` say what may be remembered. `instant` and `text` are about
times and texts.
"""
