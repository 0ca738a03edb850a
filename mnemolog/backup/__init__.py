"""Backups: the log's records by their positions, in a folder of files that only ever appear and vanish as a whole.

`source` determines what to copy of a log, `creation` copies the part that a backup lacks into files of `segment`, and a
new `manifest` names them; nothing of the former backup is removed before that. `verification` reads all of it,
`restoration` turns it into a log again, up to a moment, and `last_backup` records when the last one was made.
"""
