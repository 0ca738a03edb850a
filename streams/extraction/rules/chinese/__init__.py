"""The rules for Chinese: `rules.CHINESE` is their table, `clauses` says whom a clause speaks of, the others read it.

The language has no spaces and drops subjects: every pattern anchors at the start of a clause's core, behind subject and
adverbs, and characters that belong to another word are excluded by their neighbours.
"""
