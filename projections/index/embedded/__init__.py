"""The embedded index: exact search in this process, over tables that are a cache of the shard.

`index` has the tables of recently searched users, within a memory limit; it loads a user's table from the shard at the
first search and keeps it up to date. `table` is one user's memories in arrays: it filters, compares the vectors in
`vector_block`, and scores words with `bm25`, which keeps them in `postings`. `state_search` searches a past state with
an index built for one question. `adapter` is the entry of the registry.

Every method runs to its end on the event loop, so a search reads one state and needs no lock.
"""
