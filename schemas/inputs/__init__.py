"""Input events: from JSON or Avro of any producer to checked observations.

`input_events` checks one JSON event field by field, with `images`, `nesting` and `faults` (sentences about errors).
`decoding` reads a record of an input topic in any encoding. `pieces` divides an observation's text for extraction, and
`zone` determines its time zone. `strict_object` limits the members of an object, and `slices` limits how long the
reading of many events occupies the event loop.
"""
