"""The rules of the write side: an inbox item and a user's state in, a decision out. No clock, no I/O, no randomness.

`decide` chooses the rule: `candidates` for an extractor's answer, `commands` and `imports` for what was asked for,
`decay`, `intimacy` and `wakes` for ticks. A rule adds events to a `draft`, which applies each at once, so that the next
entry sees it. `duplicates` finds what is known already, `slots` keeps one value in a single slot, `entries` knows what
an entry of an answer may do, `edited_value` what a slot holds after an edit. `parameters` are the numbers that the
operator set; `decay_policies` is a table that grows.
"""
