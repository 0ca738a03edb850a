"""Readers of other systems' memories, row by row, as memories to import.

`evatar`, `luna`, `powermem`, `chromadb` and `mem0` each read one system's files; `rows` is shared by all; `sqlite_rows`
and `json_arrays` read files of any size without loading them as a whole.
"""
