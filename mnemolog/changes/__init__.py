"""The feed of changes: the events of memories in the ledger, for callers that keep a copy or wait for changes.

`feed.ChangeFeed` returns a page at a time, over all partitions, whichever workers hold them. Its cursor contains, for
each partition, the offset of the ledger up to which its caller has read. `stream.ChangeStreams` follows the feed.
"""
