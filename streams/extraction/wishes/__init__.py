"""What a user wants done with their own words, before any extractor reads them.

`wished_window` takes out what is not to be kept, and adds what is to be remembered or forgotten; the cues stand in
`projections.text.wishes`, because a search hides by them too. `repairs` finds where a word is taken back for another:
the last one counts.
"""
