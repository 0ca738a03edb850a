"""Rules that find keys and events in a sentence, in Chinese and English; in doubt they find nothing.

`traditional` turns a sentence's characters into the form that the rules know, `sentences` cuts it (with `mixed` if it
is in both languages), and `sentence_reader` reads it with the `rows` of its language: whom a clause speaks of, what it
claims, which keys it fills and what it says happened. `screens` reads screenshots and articles instead. The rows look
words up in `places`, `occupations` and `feelings`, and return a `finding.Finding`; its module has the category and the
canonical sentence of each key. A memory keeps the sentence's own words (`streams/extraction/own_words`).

A worker reads in a child process (`process.RuleProcess`, `child`), which ends when a text takes too long.
"""
