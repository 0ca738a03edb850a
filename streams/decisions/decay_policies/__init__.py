"""The policies of decay: the rules by which a tick makes memories fade or expire.

`policy` defines a policy. Each policy has a file: `ladder` (Evatar: long_term memories that are not accessed lose a
tenth of their importance), `ebbinghaus` (Luna: episodes lose strength, the weak and the surplus expire), `off`.
`registry` is the table of all policies, from which settings, clocks, the command line and the HTTP API take names and
periods.

`streams.decisions.decay` applies a policy to a user's memories. Policies do not handle `expires_at`:
`projections.state.lifetime` does, and every policy but `off` lets such memories expire. To add a policy, follow
docs/contributing/decay-policy.md.
"""
