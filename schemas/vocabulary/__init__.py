"""The closed lists of words that programs compare.

`words` has those of memories, requests and settings; `attributes` the slots of a profile; `refusals` the reasons why a
command is refused.
"""
