"""Access: the sender of a request, and the rights of that sender.

A `Principal` (`principal`) is the identity that a key grants: a tenant, roles, and optionally a subset of users and
agents. `key` defines the parts of a key, `key_file` stores the hashes of keys, `verifier` checks the key of a request
(and uses `failures` to make a guessing caller wait), and `rates` limits the requests and streams of a key. The edge
finds the principal before it reads a body and stores it in the request's scope; routes declare the role that they
need, and a request's tenant is its principal's. Without keys every caller on loopback is `LOCAL`. `caller` holds the
principal of the current request: requests to other workers carry it as a `statement` with a proof, and the events and
commands of the request name its key.
"""
