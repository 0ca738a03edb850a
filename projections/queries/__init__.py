"""Queries: what the read side answers about users whose partitions this worker holds.

1. `queries.Queries` is the entry point: lists, one memory, search, profile, history, importance over time.
2. `search` asks the index, drops hits that do not match the shard, and applies `filters`, importance and expiry.
   `memory_rows` holds the fields of the hits as columns. `ranking` fuses the legs of a search into one order, after
   `centre` has subtracted what all memories have in common. `turns` finds turns by their words and by their meaning.
3. `context` gathers the context of an agent's next answer, and `prompt` words it.
4. `views` and `wake_views` are the JSON that `docs/reference/http.md` describes; `history` and `export` list events,
   memory by memory.
5. `tenant` answers for all users of a tenant, from a shard's file.
"""
