"""The two logs and the two Faust transports: how records are kept, and how agents are fed from them.

1. `sqlite_log.SqliteLog` and `kafka_log.KafkaLog` are the `schemas.log.Log` of one machine and of many.
2. The first: `sqlite_file` (tables, pragmas, errors), `sqlite_rows` (a record as a row), `sqlite_writer` (the one
   thread, many calls to an fsync), `sqlite_cleanup` (retention, compaction), `log_waiters`, `directory_lock`.
3. The second: `kafka_reading` (without a group), `kafka_producer`, `kafka_topics` (creation), `kafka_errors` (what they
   mean to us).
4. `safe_delivery.SafeDelivery` is what both transports' consumers owe their agents: nothing is committed past an event
   in flight, and an acknowledgement counts only in the generation that delivered the event.
5. `sqlite.Transport` (with `sqlite_consumer`, `sqlite_producer`) and `kafka.Transport` give these to Faust under
   `sqlite:///absolute/directory` and `kafka://host:port`, by the entry points in pyproject.toml.
Agents read raw bytes with `stream.noack().events()` and call `event.ack()` when their answer is in the log.
"""
