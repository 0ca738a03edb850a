"""The state of one user and its fold: values and pure functions, without files, clocks or settings.

1. `memory` is the state: a user's memories, covered pieces, decided items and wakes. `statement_index` finds memories
   by their statements.
2. `evolve` folds one decision into it, and arbitrates: which decisions count, and which are void for every reader.
   `formation` builds a memory from the event that forms it, `wakes` folds wakes and reminders, `intimacy` the last
   intimacy with each agent.
3. `importance` computes grade and strength at an instant.
4. `time_travel` folds the same decisions again for a past effective time.
5. `digest` hashes the state, so that two folds can be compared.
"""
