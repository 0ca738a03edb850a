"""What every index on a server needs beside its client, in no vendor's words.

`object_ids` names users, partitions and objects in characters that any server takes; `batches` cuts a put into batches
of one partition, the latest version of each memory once; `hits` orders and rounds scores as the embedded index does.
`local_search` answers the keyword leg from the shard, and the semantic leg where the server does not reach so deep.
`readiness` asks a server over HTTP whether it is ready, `failure` says in a sentence why it could not be asked, and
`outages` logs once that it is away and once that it is back.

Tests: tests/unit/projections/index/remote, and the suites in tests/contract/index_suite.py.
"""
