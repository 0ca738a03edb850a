"""Extraction by rules, in Chinese and English, that would rather find nothing than something wrong.

A text's way (`extractor.RuleExtractor`): `chinese.traditional` gives its characters the form that the rules know,
`sentences` cuts it, `sentence_reader` passes each sentence to the rules of its language. Both languages run the same
pipeline (`pipeline`): `clauses` says whom a clause speaks of and drops what claims nothing (questions, suppositions,
hearsay, quotations), with `ellipsis` for the subject that a clause leaves out; `about_self`, `nature`, `people`,
`tastes`, `life` and `events` read the clause; `addressed` reads what is said straight to the listener, `liked` what
is liked of what happened, and `topics`, last, what a clause speaks of. `screens` reads screenshots and articles
instead. Rules look things up in `dates`, `numbers`, `places`, `occupations` and `feelings`, and return a
`finding.Finding`.

A worker reads in a child process (`process.RuleProcess`, `child`), which ends when a text takes too long.

Findings are long-term: profile attributes, names and companies, money and projects, habits, plans with a certain date.
Short-term are a plan for the same day and where the user is just now.
"""
