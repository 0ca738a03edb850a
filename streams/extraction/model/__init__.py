"""Extraction by a language model behind any OpenAI-compatible endpoint.

`prompts` makes the question: rules, `examples` in the language of the window, numbered lines, schema.
`extractor.ModelExtractor` asks it, once more where the answer cannot be used, and distinguishes outages (ask again)
from rejections (keep and go on). What an endpoint is like is learned: `dialect`, the parameters that it accepts;
`patience`, how long it takes; `fitting`, how much it can read. `completion` says where in a response the text stands,
`document` where in the text the JSON, `answer` what it proposes: strict about the whole, forgiving about single
entries. `grounding` holds each entry against what the user said, by its words (`wording`), its
`days`, and what may fill a slot (`own_slots`, `pets`).
"""
