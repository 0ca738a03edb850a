"""Duplicates: statements that a memory already makes.

`matching` applies the rules to a user's memories: the same text, the same slot with the same value, or nearly the same
text. `similarity` is the rule for nearly the same text: shared keywords, a cosine, and the check of `equivalence`,
which reduces both texts to their content words and allows no difference in them. `word_cache` caches the words.
`chinese` and `english` list the words, marks and spellings that never change a meaning, `verb_forms` the forms of a
verb, and `time_phrase` moves a time phrase to one place. `contradiction` determines which statements end others.
"""
