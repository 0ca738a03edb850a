"""Embedders: texts go in, unit vectors come out.

`embedder` is the protocol. `builtin` computes on this machine, in a process of its own (`encoder_process` starts and
feeds it, `encoder` is the program that runs there); `openai` asks any OpenAI-compatible endpoint, and is the one file
that imports `openai` here.
"""
