"""The embedded log: one SQLite file in a directory, one process, an acknowledgement only after the fsync.

`log.SqliteLog` reads in the calling thread; its appends go to `writer`, one thread in which calls that wait at the same
time share a transaction. `file` has the tables, the pragmas and the meaning of SQLite's errors, `rows` a record as a
row, `cleanup` what retention and compaction delete, `growth` tells readers which partitions have grown. `transport`,
`consumer`, which fetches `unread_records`, and `producer` give the log to Faust.
"""
