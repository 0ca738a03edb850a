"""mem0's protocol: its own clients, unchanged, work on mnemolog.

1. `whose` determines the owner that a request is about: a user, an agent, an application, a run.
2. `conditions` translates mem0's filters into those of our own routes, for one user at a time.
3. `shapes` shows our memories, histories and states as mem0 does.
4. `requests` reads a request, and calls our own routes on its behalf.
5. `additions` adds the contents of messages, `memories` carries out all other requests.
6. `projects` handles the clients' settings for extraction: a project's settings are the tenant's policy.
7. `platform` has the routes of mem0's platform, `server` those of its open-source server.

Unknown fields are accepted here, as the protocol requires. A refusal is JSON with `detail`, which mem0's clients read.
"""
