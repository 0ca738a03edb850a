"""Closed lists of words that all packages share.

`words` has the words of memories and settings, and `attributes` those of the profile, and when two values are the same.
`facts` computes the keys of facts, for which `relations` has the words for relatives, friends and pets. `tastes` has
the words of liking and disliking, and `refusals` those with which the reason of a refused command begins.
"""
