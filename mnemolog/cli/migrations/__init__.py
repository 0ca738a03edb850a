"""Readers of other systems' memories, row by row, as memories to import.

`evatar`, `luna`, `powermem` and `chromadb` each read one system's files; `rows` is what they share; `sqlite_rows` and
`json_arrays` read files of any size without holding them.
"""
