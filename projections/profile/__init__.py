"""What a user's state says about the user, read and never stored.

`profile` folds the memories that carry an attribute, and `attribute_values` validates their values. `upcoming` lists
plans and yearly days; `habits` describes the counted turns in words; `relationship` reports feelings and the course of
a relationship. `visibility` decides what each level of intimacy shows, and `ranked_memories` keeps a user's memories
sorted, so that a context need not sort them each time.

`slot_question` determines which slot a question asks for and which memories fill it: `english_questions` and
`chinese_questions` read the question into a `slot_asked`, and `relations` knows which words name the same person.
"""
