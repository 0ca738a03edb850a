"""The messages: one frozen dataclass each, in closed unions.

1. `observations`: what upstream saw, on the input topics.
2. `inbox`: what is to be decided: an extractor's answers, commands, ticks. `wakes` has the commands about wakes,
   `erasure` those that erase.
3. `decision`: the answer to one item of the inbox; the ledger contains nothing else.
4. `events`: the changes that a decision carries, and the folds apply.
5. `dead_letters`: records that could not be read or handled. `policy`: what a tenant wants remembered, and how.
   `data_keys` and `webhooks`: the messages of their topics.

`envelope` is part of every message but a data key and a webhook's progress. `chain` hashes the records of the ledger
one after another. `copied_fields` copies fields that two messages share. After a change run `tools/new_message.py`;
`docs/contributing/command-and-event.md` leads through a new command.
"""
