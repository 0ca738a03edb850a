"""Extraction by a language model behind any OpenAI-compatible endpoint.

`prompts` makes the question: rules, numbered lines, schema. `extractor.ModelExtractor` asks it, once more where the
answer cannot be used, and distinguishes outages (ask again) from rejections (keep and go on). `dialect` finds out which
parameters an endpoint accepts. `answer` reads the answer: strict about the whole, forgiving about single entries.
"""
