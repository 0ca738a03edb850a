"""The feed of changes: what the ledger says happened to memories, for callers that keep a copy or wait for news.

`feed.ChangeFeed` answers a page at a time, over all partitions, whichever workers have them. Its cursor holds, for each
partition, the offset of the ledger up to which its caller has read.
"""
