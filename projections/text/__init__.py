"""Texts as the read side sees them, for search, duplicates and statistics alike.

`analyser` gives the tokens of a text: one analyser for both indexes and for the rules that compare texts. `english`
holds its stop words and stems. `measure` counts the sentences and words of one turn, for `shard.turn_statistics`.
`reminders` tells who asks to be reminded.
"""
