"""Imports: memories, reminders and periodic wakes from elsewhere, or from an export of ours, as lines.

`importer.parse_line` checks a line: `snapshot` a memory, `wake_lines` a wake. The routes call `importer.Importer`,
which sends each line to the worker that has its user. There `memories.MemoryImporter` and `wakes.WakeImporter` embed
what is new, append commands, wait for the decisions and say what each line led to (`results`). A line that comes again
changes nothing: its command has the same id.
"""
