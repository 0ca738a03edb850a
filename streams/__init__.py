"""The write side: from what upstream saw to decisions in the ledger.

`observe` cuts turns into windows (`window`), has them extracted (`extraction`, with an `extractor`: `model_extractor`,
`rule_extractor` or `verbatim_extractor`) and appends the answers to the inbox. `remember` takes one inbox item at a
time for each user (`pool`), asks `decide` (`candidates`, `commands`, `decay`, with `known`, `slots`, `duplicates`), and
appends one decision to the ledger. `project` brings shards and index after it. `ticking` is the owner's clock.
`agents` runs the three under Faust, over the `transports`; what cannot be handled becomes a `dead_letter`.
"""
