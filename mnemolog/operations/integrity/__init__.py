"""Whether a log is whole.

`data_folder` compares log, shards and keys before a worker starts. `verification` checks the links of all decisions.
`kept_heads` keeps their heads
elsewhere. `salvage` reads what is left of a ledger that is damaged.
"""
