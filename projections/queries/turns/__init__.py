"""The search of turns, screenshots and articles in their original words, alongside memories.

1. `index` holds the words of each user's turns in memory, and finds turns by them.
2. `vectors` holds the vectors of the turns, and `meaning` compares them with a question.
3. `making` computes the vectors as turns arrive.
"""
