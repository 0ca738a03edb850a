"""Readers of other programs' chats, message by message, as turns to publish.

`archive` opens an export as it comes (a file, a folder, a zip, gzip); `chatgpt`, `claude`, `whatsapp`, `telegram` and
`openai_messages` each read one program's; `message` is what they have in common, `conversations` what the first two
have, `turns` makes events of them, and `sources` puts these together.
"""
