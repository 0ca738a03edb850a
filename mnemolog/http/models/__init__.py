"""The shapes of bodies, queries and answers, from which the OpenAPI document is made.

`requests` has what every route shares and the larger bodies; `memory_requests`, `context_requests` and
`internal_requests` those of their routes. `responses`, `context_responses` and `exchange_responses` describe answers;
`wakes` has both. Routes answer with plain JSON: a response model describes it, and is not run over it.
"""
