"""The two logs, and the two Faust transports that feed agents from them.

`sqlite` is the log of one machine, `kafka` that of many; each has a `log` (the `schemas.log.Log` that everything else
appends to and reads from) and a `transport` for Faust, under `sqlite:///absolute/directory` and `kafka://host:port`, by
the entry points in pyproject.toml.

`safe_delivery` is what both consumers owe their agents: no commit past a record in work, and no acknowledgement from
another generation; `large_messages` bounds the pictures in work, `runs` orders a fetch, and `starts` lets a single
partition be delivered again. Agents read raw bytes with
`stream.noack().events()` and call `event.ack()` when their answer is in the log. `batching` makes the appends of a busy
event loop share a write, `recent_records` keeps the newest records in memory for the folds, `directory_lock` lets one
process hold a data directory, `milliseconds` is Kafka's time.
"""
