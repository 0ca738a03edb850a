"""The Python client: `AsyncClient`, and `Client`, the same without await.

A call is a value (`call`): method, path, body, and how its answer is read. `memories`, `context`, `wakes`, `exchange`
and `admin` build the calls, with one function for each route. Each module ends with a list of its functions, which
become methods of both clients (`carrier`). `client` sends the calls over `httpx`, with retries from `transport`.
`errors` has one subclass for each way to react. Users import all of it from `mnemolog`.
"""
