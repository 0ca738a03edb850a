<<<<<<< HEAD
"""The rules of the write side: an inbox item and a user's state in, a decision out. No clock, no I/O, no randomness.

`decide` chooses the rule: `candidates` for an extractor's answer, `commands` and `imports` for what was asked for,
`decay`, `intimacy` and `wakes` for ticks. A rule adds events to a `draft`, which applies each at once, so that the next
entry sees it. `duplicates` finds what is known already, `slots` keeps one value in a single slot, `edited_value` and
`key_dialogue` work out single fields. `parameters` are the numbers that the operator set; `decay_policies` is a table
that grows.
=======
"""The rules: one item of the inbox and one user's state in, one decision out. No clock, no files, no model.

1. `decide` takes an item and has the rule for it draft the decision (`draft`); `parameters` are the operator's numbers.
2. `candidates` decides an extractor's answer, `commands` what callers ask (with `sharing`, `edited_value`),
   `imports` what was kept elsewhere, `wakes` reminders and wakes.
3. Ticks: `decay` lets memories fade, `intimacy` keeps what outlives old turns, `wakes` raises what is due.
4. Rules compare `statements`: `duplicates` says which say the same, `slots` which hold a slot of the profile;
   `key_dialogue` unites the lines of an episode that is told again.
>>>>>>> w-messages
"""
