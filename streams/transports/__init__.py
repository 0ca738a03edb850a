"""The two logs, and the two Faust transports that feed agents from them.

`sqlite` is the log of one machine, `kafka` that of several. Each has a `log` (the `schemas.log.Log` that everything
else appends to and reads from) and a `transport` for Faust. The entry points in pyproject.toml register the transports
for the URLs `sqlite:///absolute/directory` and `kafka://host:port`.

`safe_delivery` has what both consumers guarantee to their agents: no commit past an unfinished message, and no
acknowledgement from another generation. `large_messages` bounds the bytes of unfinished pictures, and `runs` orders the
records of a fetch. Agents read raw bytes with `stream.noack().events()`, and call `event.ack()` when their answer is in
the log. `batching` lets the appends of a busy event loop share a write, `recent_records` keeps the newest records in
memory for the folds, `directory_lock` lets only one process use a data directory, and `milliseconds` converts log time
to Kafka's milliseconds and back.
"""
