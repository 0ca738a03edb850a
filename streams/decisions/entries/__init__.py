"""The content and permitted effects of an entry in an extractor's answer.

`facts` determines its subject, and ends the known memories that it names by id. `plans` handles values that become true
on a later day. `trust` limits the effect of words that are not the user's. `key_dialogue` unites the lines that two
accounts of one event quote. `candidates`, one folder up, decides the entries one by one with these.
"""
