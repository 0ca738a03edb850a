"""Commands: what callers ask the remember agent to do about the memories of a user.

`commands.Commands` builds a command, embeds its text, appends it to the inbox of its user and waits for the decision,
which the remember agent makes (`streams/decisions`). The others submit through it: `wakes.WakeCommands` for reminders
and periodic wakes, `recalls.Recalls` for what searches have shown, `sharing.Sharer` for memories that another user is
to have, at whichever worker. `similar.SimilarMemories` finds what says nearly the same as what was just remembered.
"""
