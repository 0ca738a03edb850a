"""Extraction by a language model behind any OpenAI-compatible endpoint.

`prompts` builds the question: rules, `examples` in the language of the window, numbered lines, schema.
`extractor.ModelExtractor` sends it, repeats it if the answer is unusable, and distinguishes outages (ask again) from
rejections (record and continue). The properties of an endpoint are learned: `dialect`, the parameters that it accepts;
`patience`, how long it takes; `fitting`, how much it can read. `completion` finds the text in a response, `document`
the JSON in the text, and `answer` reads the proposals: strictly as a whole, leniently entry by entry. `grounding`
checks each entry against the user's words (`wording`), its `days`, and the rules for slots (`own_slots`, `pets`).
"""
