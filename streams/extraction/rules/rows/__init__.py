"""Rows: what the rules know of a language, and the engine that reads a sentence with them.

The TOML files in this folder contain the rows, in the format that `row` describes. `*_clauses` say whom a clause speaks
of and what claims nothing, `*_events` say what happened, and the others say what fills a key. `english` and `chinese`
cut a sentence into clauses; `keys` matches each clause with the rows, and `values` cuts and checks what they find, with
`things` for lists. `about` reads facts about things, `events` what happened, and `liked` what was liked of it.
"""
