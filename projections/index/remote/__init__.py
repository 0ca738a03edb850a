"""The parts that every index on a server needs in addition to its client, independent of the vendor.

`object_ids` names users, partitions and objects in characters that any server takes; `batches` cuts a put into batches
of one partition, the latest version of each memory once; `hits` orders and rounds scores as the embedded index does.
`local_search` answers the keyword leg from the shard, and the semantic leg if the server does not return enough hits.
`readiness` checks over HTTP whether a server is ready, `failure` explains in a sentence why it could not be reached,
and `outages` logs once that it is away and once that it is back.

Tests: tests/unit/projections/index/remote, and the suites in tests/contract/index_suite.py.
"""
