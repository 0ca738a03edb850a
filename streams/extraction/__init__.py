"""Extraction: from a window of observations to proposals of what to remember.

`protocol` is what every extractor keeps: `Window` in, `Extraction` out. Three do: `model` asks a language model,
`rules` reads without one, `verbatim` keeps each piece word for word. `window` cuts a session into windows, as a
function of the log alone; `recalled_text` takes out what an agent had recalled into the prompt, `wishes` what its user
asks not to keep. `known` is what a model is shown of the memories; `evidence` judges what it answers.
`request.ExtractionService` calls the extractor, embeds the proposals and makes the inbox item; it waits while model or
embedder are down; `hours` reads the time of day of a plan. `event_importance` is Luna's importance for episodes that
come without one.
"""
