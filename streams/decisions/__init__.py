"""The rules: one item of the inbox and one user's state in, one decision out. No clock, no files, no model.

1. `decide` takes an item and has the rule for it draft the decision (`draft`); `parameters` are the operator's numbers.
2. `candidates` decides an extractor's answer, `commands` what callers ask (with `sharing`, `edited_value`),
   `imports` what was kept elsewhere, `wakes` reminders and wakes.
3. Ticks: `decay` lets memories fade, `intimacy` keeps what outlives old turns, `wakes` raises what is due.
4. Rules compare `statements`: `duplicates` says which say the same, `slots` which hold a slot of the profile;
   `key_dialogue` unites the lines of an episode that is told again.
"""
