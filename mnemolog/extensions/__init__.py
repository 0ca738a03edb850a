"""The extensions: each folder is one, and the product works without it.

An extension imports what it needs from the product, and joins it by the value `EXTENSION` in its `__init__`, which
`mnemolog.hooks` finds and describes. No module outside the folder imports anything from it, no other extension either.
`console` shows memories in a browser, `evatar` and `mem0` answer clients of these systems, `mcp` lets a model call
tools, `migration` imports files, `webhooks` posts changes to addresses.
"""
