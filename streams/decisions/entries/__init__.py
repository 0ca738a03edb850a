"""What an entry of an extractor's answer says and may do, before and after it is compared with what is known.

`facts` says whom it is about, and ends the known memories that it names by their ids. `trust` bounds what is decided by
words that are not the user's, and knows what such words left behind. `key_dialogue` unites the lines that two tellings
of one event quote. `candidates`, one folder up, goes through the entries and asks them in turn.
"""
