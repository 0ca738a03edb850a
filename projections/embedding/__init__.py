"""Embedders: texts go in, unit vectors come out.

1. `embedder` is the protocol; `choice` reads the setting, and `factory` creates the embedder for it.
2. `local` computes on this machine, in a separate process: `encoder_process` starts and feeds it, and `encoder` is the
   program that runs there. `builtin` is always available, and `use` runs it. `onnx` runs models in a folder.
3. `openai` calls any OpenAI-compatible endpoint, and `shared_requests` combines the texts of several callers.
   `long_texts` defines how much of a text both read.
4. `serving` is the current embedder; `question_views` returns the vectors of questions, or none while it is away.
   `anchors` are texts that tell on which scale an encoder's cosines are.
"""
