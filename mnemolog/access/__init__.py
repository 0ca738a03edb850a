"""Access: who sent a request, and what they may do.

A `Principal` (`principal`) is what a key stands for: a tenant, roles, and perhaps only some users and agents. The edge
finds it before it reads a body and leaves it in the request's scope; routes declare the role that they need, and the
tenant of every request is its principal's. Without keys everybody on loopback is `LOCAL`.
`sending_key` is the id of the key, while its request is answered: it goes into what the request publishes and commands.
"""
