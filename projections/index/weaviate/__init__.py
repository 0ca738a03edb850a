"""The index in Weaviate: vectors there, words at the worker that holds the user.

`adapter` is the entry of the registry, `address` parses the setting. `index` is the part that the rest of mnemolog
uses: it puts and removes so that a late writer never undoes a newer write; `objects` turns entries into Weaviate's
objects and filters. `search` requests the nearest vectors and adds the keyword leg from `remote/local_search`.
`collection` connects, creates the collection if it is missing, and keeps its generations under the alias `Memory`;
`generations` is the protocol's view of them. `failure` puts the client's errors into sentences.

Only this folder imports Weaviate's client, and only when an index is created: the import takes a second.
"""
