"""What a user wants done with their own words, before any extractor reads them.

`wished_window` removes what is not to be kept, and adds what is to be remembered or forgotten; its cues are in
`projections.text.wishes`, because published turns are filtered by them too. `repairs` finds where the user replaces a
word by another: the last one counts.
"""
