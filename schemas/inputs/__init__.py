"""Input events: from JSON or Avro of any producer to checked observations.

`input_events` checks one JSON event field by field, with `images`, `nesting` and `faults` (sentences for what is
wrong). `decoding` reads a record of an input topic, whatever its encoding. `pieces` cuts an observation's text into
stretches for extraction, and `zone` says by which clock it lives. `strict_object` limits the members of an object,
`slices` how long reading many events keeps the event loop.
"""
