"""The embedded log: one SQLite file in a directory, one process, an acknowledgement only after the fsync.

`log.SqliteLog` reads in the calling thread. Its appends go to the thread of `writer`, where calls that wait at the same
time share a transaction. `file` has the tables, the pragmas and the translation of SQLite's errors; `rows` converts
records to rows and back; `heads` maintains the running heads of the ledger; `cleanup` deletes records for retention and
compaction; `growth` notifies followers of the log which partitions have grown. `transport`, `consumer` (which takes
`unread_records`) and `producer` connect Faust to the log. `read_only_log` reads the file without writing to it,
`rewriting` replaces records in it, and `restored_file` fills the file of a new log.
"""
