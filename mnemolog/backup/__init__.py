"""Backups: the log's records by their positions, in a folder of files that only ever come and go whole.

`source` says what of a log is to be copied, `creation` copies what a backup does not have yet into files of `segment`,
and a new `manifest` names them; nothing of the former one is removed before. `verification` reads all of it,
`restoration` makes a log of it again, up to a moment, and `last_backup` remembers when the last one was made.
"""
