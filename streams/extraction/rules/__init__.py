"""Rules that find keys and events in a sentence, in Chinese and English, and rather find nothing than a wrong one.

`traditional` gives a sentence's characters the form that the rules know, `sentences` cuts it (`mixed` where it is in
both languages), and `sentence_reader` reads it with the `rows` of its language: whom a clause speaks of, what it
claims, which keys it fills and what it says happened. `screens` reads screenshots and articles instead. Rows look
things up in `places`, `occupations` and `feelings`, and give a `finding.Finding`; a key's category and its canonical
sentence stand there. What is kept of the sentence is its own words (`streams/extraction/own_words`).

A worker reads in a child process (`process.RuleProcess`, `child`), which ends when a text takes too long.
"""
