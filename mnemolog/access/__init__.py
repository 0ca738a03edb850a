"""Access: who sent a request, and what they may do.

A `Principal` (`principal`) is what a key stands for: a tenant, roles, and perhaps only some users and agents. `key`
says what a key consists of, `key_file` keeps the keys' hashes, `verifier` checks a key that was sent (and makes a
caller who guesses wait, by `failures`), `rates` counts what a key does. The edge finds the principal before it reads a
body and leaves it in the request's scope; routes declare the role that they need, and a request's tenant is its
principal's. Without keys every caller on loopback is `LOCAL`. The sender of the current request is its `caller`: other
workers are asked in its name, as a `statement` beside a proof, and what it publishes and commands names its key.
"""
