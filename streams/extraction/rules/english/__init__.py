"""The rules for English: `rules.ENGLISH` is their table, `clauses` says whom a clause speaks of, the others read it.

Contractions are written out before a pattern sees a clause. Names and cities are believed only where they are spelt
with capitals. `things` cuts the object of "like" into the things that it names.
"""
