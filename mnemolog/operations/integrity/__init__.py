"""The integrity of a log.

`data_folder` compares log, shards and keys before a worker starts. `verification` checks the links of all decisions.
`kept_heads` keeps their heads elsewhere. `salvage` reads the remaining part of a damaged ledger.
"""
