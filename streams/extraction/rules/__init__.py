"""What can be told from words alone, in Chinese and English: rules that would rather keep silent than be wrong.

The path of a text: `traditional` lets its characters be read, `sentences` cuts it, `chinese_clauses` /
`english_clauses` tell whom each clause speaks of and drop what claims nothing (questions, suppositions, hearsay,
quotations), then `*_self`, `*_people`, `*_tastes` and `*_life` look at the clause; `screens` reads screenshots and
articles instead. `dates`, `numbers`, `places` and `occupations` are what they look things up in; `found` is what they
return.

What becomes of it: the profile's attributes, names and companies, money and projects, habits: long-term. A plan is
kept when its date is certain: long-term, or short-term when it is for the same day. Where the user is just now is
short-term.
"""
