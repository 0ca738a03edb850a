"""Rows: what the rules know of a language, and the engine that reads a sentence with them.

The files beside this one hold the rows (`row` says what stands in them): `*_clauses` whom a clause speaks of and what
claims nothing, `*_events` what happened, the others what fills a key. `english` and `chinese` cut a sentence into
clauses; `keys` matches each with the rows, and `values` cuts and checks what they find, with `things` for lists;
`events` and `liked` read what happened, and what was liked of it.
"""
