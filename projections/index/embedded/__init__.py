"""The embedded index: exact search in this process, over tables that are a cache of the shard.

`index` has the tables of the users that were searched, within a limit of memory; it loads a user's table from the shard
at the first search and keeps it up to date. `table` is one user's memories in arrays: it filters, compares the vectors
that `vector_block` holds, and asks `bm25` for the words, which has them in `postings`. `state_search` searches a state
of the past with an index made for one question. `adapter` is the entry of the registry.

Every method runs to its end on the event loop, so a search reads one state and needs no lock.
"""
