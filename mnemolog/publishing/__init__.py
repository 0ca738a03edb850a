"""Publishing: how observations come into the log, each of them once.

The routes call `router.PublishRouter`. It sends each event to the worker that has its user, and all events of a request
are appended, or none. There `publisher.Publisher` compares the events with those in the log and appends the new ones;
`recent_events` keeps those that it has appended and no shard has folded yet. `states.EventStates` says how far events
have come, and waits for them.
"""
