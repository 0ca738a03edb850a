"""Access: who sent a request, and what they may do.

A `Principal` (`principal`) is what a key stands for: a tenant, roles, and perhaps only some users and agents. `key`
says what a key consists of, `key_file` keeps their hashes, `verifier` finds the key of a text (and slows down, by
`failures`, who guesses), `rates` counts what a key does. The edge finds the principal before it reads a body and leaves
it in the request's scope; routes declare the role that they need, and the tenant of every request is its principal's.
Without keys every caller on loopback is `LOCAL`. Whoever sent the request at hand is its `caller`: other workers are asked
in its name, as a `statement` that stands beside a proof, and what it publishes and commands names its key.
"""
