"""The rules of the write side: they turn an inbox item and a state into a decision, without clock, I/O or randomness.

`decide` chooses the rule: `candidates` for an extractor's answer, `commands` and `imports` for commands, `decay`,
`intimacy` and `wakes` for ticks. A rule adds events to a `draft`, which applies them to the state, so that the next
entry sees them. `duplicates` finds known statements, `slots` keeps one value in a single slot, `entries` bounds the
effects of an answer's entry, and `edited_value` determines the value of a slot after an edit. `parameters` are the
operator's settings; `decay_policies` is an extensible table.
"""
