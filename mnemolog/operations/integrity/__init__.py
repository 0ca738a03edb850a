"""Whether a log is whole: `data_folder` compares log, shards and keys before a start, `verification` checks the links.

`salvage` reads what is left of a ledger that is not.
"""
