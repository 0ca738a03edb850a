"""Rules that find keys and events in a sentence, in Chinese and English, and rather find nothing than a wrong one.

`chinese.traditional` gives a sentence's characters the form that the rules know, `sentences` cuts it, `sentence_reader`
passes it to the rules of its language. Both languages run the same pipeline (`pipeline`): `clauses` says whom a clause
speaks of and drops what claims nothing (questions, suppositions, hearsay, quotations), with `ellipsis` for the subject
that a clause leaves out; `about_self`, `nature`, `people` and `tastes` find keys, `events` what happened; `addressed`
reads what is said straight to the listener, `liked` what is liked of what happened. `screens` reads screenshots and
articles instead. Rules look things up in `places`, `occupations` and `feelings`, and return a `finding.Finding`. What
is kept of the sentence is its own words (`streams/extraction/own_words`).

A worker reads in a child process (`process.RuleProcess`, `child`), which ends when a text takes too long.
"""
