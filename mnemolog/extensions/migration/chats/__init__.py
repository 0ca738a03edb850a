"""Readers of other programs' chats, message by message, as turns to publish.

`archive` opens an export as it comes (a file, a folder, a zip, gzip); `chatgpt`, `claude`, `whatsapp`, `telegram` and
`openai_messages` each read one program's export. `message` is their common form, `conversations` the common part of the
first two, `turns` turns messages into events, and `sources` combines these.
"""
