"""Access: who sent a request, and what they may do.

A `Principal` (`principal`) is what a key stands for: a tenant, roles, and perhaps only some users and agents. `key`
says what a key consists of, `key_file` keeps their hashes, `verifier` finds the key of a text (and slows down, by
`failures`, who guesses), `rates` counts the requests of each key. The edge finds the principal before it reads a body
and leaves it in the request's scope; routes declare the role that they need, and the tenant of every request is its
principal's. Without keys every caller on loopback is `LOCAL`. What another worker is asked for a request is asked in
the name of its `caller`, as a `statement` that stands beside a proof. `sending_key` is the id of its key, which goes
into what the request publishes and commands.
"""
