"""Days and hours as people say them, in Chinese and English.

`reader` finds all time expressions of a text as values, by the rows of `chinese` and `english` and what `phrases` makes
of them; `spans` reckons in the calendar, `hours` reads times of day, `numerals` numbers. On these stand `wording` (a
text with its days in brackets), `questions` (the span that a query names), `cues` (since when, moved to when) and
`yearly` (birthdays).
"""
