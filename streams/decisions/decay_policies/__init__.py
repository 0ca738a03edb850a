"""The policies of decay: by which rule a tick makes memories fade or expire.

`policy` says what a policy is. Each has a file: `ladder` (Evatar: long_term memories that are not accessed lose a tenth
of their importance), `ebbinghaus` (Luna: episodes lose strength, the weak and the surplus expire), `off`. `registry` is
the one table that names them; settings, clocks, the command line and the HTTP API take names and periods from it.

`streams.decisions.decay` applies a policy to a user's memories. That a memory has passed its `expires_at` is no
policy's business: `projections.state.lifetime` says so, and every policy but `off` lets such memories expire. To add a
policy follow docs/contributing/decay-policy.md.
"""
