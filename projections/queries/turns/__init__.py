"""Turns as they were said, screenshots and articles: how a search finds them beside memories.

1. `index` has the words of each user's turns in memory, and finds turns by them.
2. `vectors` has their vectors beside the words, `meaning` compares them with a question.
3. `making` has the vectors made as turns come.
"""
