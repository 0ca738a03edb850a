"""Extraction: from a window of observations to proposals of what to remember.

`protocol` defines what an extractor does: `Window` in, `Extraction` out. There are three: `model` asks a language
model, `own_words` reads with the `rules` alone, and `verbatim` keeps each piece word for word. `window` cuts a session
into windows, as a function of the log alone; `recalled_text` removes what an agent had recalled into the prompt, and
`wishes` what its user asks not to keep. `known` finds the memories that a model is shown; `evidence` judges the model's
answer. `request.ExtractionService` calls the extractor, embeds the proposals and makes the inbox item; it waits while
model or embedder is down. `event_importance` has Luna's importance for episodes that come without one.
"""
