"""Publishing: appends observations to the log, each exactly once.

The routes call `router.PublishRouter`. It sends each event to the worker that holds its user, and appends either all
events of a request or none. At that worker `publisher.Publisher` compares the events with those in the log and appends
the new ones; `recent_events` keeps appended events until a shard has folded them. `states.EventStates` returns the
states of events, and waits for final ones. `utterances` identifies messages that have no id.
"""
