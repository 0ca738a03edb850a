"""Commands: requests of callers to the remember agent about the memories of a user.

`commands.Commands` builds a command, embeds its text, appends it to the inbox of its user and waits for the decision,
which the remember agent makes (`streams/decisions`). The other modules submit through it: `wakes.WakeCommands` for
reminders and periodic wakes, `recalls.Recalls` for the memories that searches have shown, and `sharing.Sharer` for
memories shared with another user, on any worker. `similar.SimilarMemories` finds memories similar to a new one.
"""
