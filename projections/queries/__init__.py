"""Queries: what the read side answers about users whose partitions this worker holds.

1. `queries.Queries` is the door: lists, one memory, search, profile, history, importance over time.
2. `search` asks the index, drops hits that are not what the shard has, and joins `filters`, importance and expiry;
   `memory_rows` has what is read of hits as columns, `ranking` fuses the legs into one order, after `centre` has taken
   off what all memories share. `answers` puts memories and turns in one order, with the `relevance` of each;
   `explanation` says why a result has its place, and what was left out. `turns` finds what was said, by its words and
   by its meaning.
3. `context` gathers what an agent reads before its next answer, and `prompt` words it.
4. `views` are the JSON that `docs/reference/http.md` describes; `history` and `export` list events, memory by memory.
5. `tenant` answers for all users of a tenant, from a shard's file.
"""
