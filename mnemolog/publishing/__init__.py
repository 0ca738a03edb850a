"""Publishing: how observations come into the log, each of them once.

`router.PublishRouter` is called by the routes. It sends each event to the worker that has the event's user, so that of
one request all events are appended, or none. There `publisher.Publisher` compares the events with those that the log
holds already, and appends the new ones; what it has appended and no shard has folded yet is kept in `recent_events`.
`states.EventStates` says how far events have come, and waits for them.
"""
