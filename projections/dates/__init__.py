"""Days and hours as people say them, in Chinese and English.

`reader` finds the time expressions of a text. It matches the rows of `chinese` and `english`, and `phrases` turns each
match into days. `spans` does calendar arithmetic, `hours` reads times of day and `numerals` reads numbers. Four modules
build on these: `wording` (a text with its days in brackets), `questions` (the span that a query names), `cues` (since
when, moved to when) and `yearly` (birthdays).
"""
