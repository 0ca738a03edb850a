"""Texts as the read side sees them, for search, duplicates and statistics alike.

`analyser` splits a text into tokens, for both indexes and for the rules that compare texts. `english` holds its stop
words and stems. `measure` counts the sentences and words of one turn, for `shard.turn_statistics`. `reminders`
recognises requests to be reminded.
"""
