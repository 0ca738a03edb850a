"""Duplicates: whether a statement says what a memory says already.

`matching` applies the rules to a user's memories: the same text, the same slot with the same value, or nearly the same
text. `similarity` is the rule for the last: shared keywords, a cosine, and the check of `equivalence`, which reduces
both texts to their content words and allows no difference in them; `word_cache` remembers words. `chinese` and
`english` list the words, marks and spellings that never change what is said, `verb_forms` the forms of a verb, and
`time_phrase` moves a phrase of time to one place. `contradiction` says which statements end others.
"""
