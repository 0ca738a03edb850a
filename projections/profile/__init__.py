"""What a user's state says about the user, read and never stored.

`profile` folds the memories that carry an attribute, and `attribute_values` checks what they may hold. `upcoming`
lists what lies ahead, by plans and by yearly days; `habits` puts the counted turns into words; `relationship` reports
feelings and how two got on. `visibility` says what an intimacy shows, and `ranked_memories` keeps a user's memories in
their orders, so that a context need not sort them each time.

`slot_question` says which slot a question asks for and which memories fill it: `english_questions` and
`chinese_questions` read the question into a `slot_asked`, and `relations` knows which words name the same person.
"""
