"""Inputs: what upstream may send, checked where it comes in.

`input_events` reads JSON events strictly and names each fault by its path; `decoding` reads records of the input topics
in any of their encodings. `pieces` cuts long observations, `images` bounds pictures, `nesting` bounds metadata, and
`faults` puts pydantic's findings into our words.
"""
