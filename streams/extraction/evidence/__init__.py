"""What stands behind a model's entry: whose words, and whether they say it.

`speakers` tells who of those that a window's turns name is the user. `judgement` holds each entry against the lines
that it cites, in any language: what cites nothing that lasts is dropped, what is doubtful is kept unconfirmed. `judge`
is the judgement with the built-in encoder, as a worker asks it.
"""
