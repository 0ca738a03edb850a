"""Imports: lines with memories, reminders and periodic wakes from other systems, or from an export of mnemolog.

`importer.parse_line` checks a line: `snapshot` a memory, `wake_lines` a wake. The routes call `importer.Importer`,
which sends each line to the worker that holds its user. There `memories.MemoryImporter` and `wakes.WakeImporter` embed
new content, append commands, wait for the decisions and return the result of each line (`results`). Importing a line
again changes nothing, because its command has the same id.
"""
