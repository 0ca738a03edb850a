"""The evidence for a model's entry: whose words it cites, and whether they support it.

`speakers` finds out which of the people that a window's turns name is the user. `judgement` compares each entry with
the lines that it cites, in any language: an entry whose lines state nothing that lasts is dropped, and a doubtful one
is kept unconfirmed. `judge` runs the judgement with the built-in encoder, for a worker.
"""
