"""Embedders: texts go in, unit vectors come out.

1. `embedder` is the protocol; `choice` reads the setting, and `factory` makes the embedder that it means.
2. `local` computes on this machine, in a process of its own: `encoder_process` starts and feeds it, `encoder` is the
   program that runs there. `builtin` is the one that is always there, and `use` runs it. `onnx` runs models in a
   folder.
3. `openai` asks any OpenAI-compatible endpoint, `shared_requests` has texts of several callers share a request.
   `long_texts` says how much of a text both read.
4. `languages` puts one encoder for each language beside the multilingual one; `anchors` bring their cosines to one
   scale.
5. `serving` is whichever serves now; `question_views` says what a question means, and does without while it is away.
"""
