"""The index in Weaviate: vectors there, words at the worker that holds the user.

`adapter` is the entry of the registry, `address` reads the setting. `index` is what the rest of mnemolog sees: it puts
and removes so that a late writer undoes nothing newer; `objects` turns entries into Weaviate's objects and filters.
`search` asks for the nearest vectors and adds the keyword leg from `remote/local_search`. `collection` connects, makes
the collection where it is missing, and keeps its generations behind the alias `Memory`; `generations` is the protocol's
view of them. `failure` puts the client's errors into sentences.

Only this folder imports Weaviate's client, and only when an index is made: it takes a second.
"""
