"""The systems that `mnemolog import --from` reads, in a separate module, because the readers are imported lazily."""

from typing import Final, Literal, TypeAlias, get_args

Memories: TypeAlias = Literal["mnemolog", "evatar", "luna", "powermem", "chromadb", "mem0"]
"""The systems whose memories become memories."""
Chats: TypeAlias = Literal["chatgpt", "claude", "whatsapp", "telegram", "openai-messages"]
"""The programs whose messages become turns."""
System: TypeAlias = Literal[Memories, Chats]
CHATS: Final[tuple[Chats, ...]] = get_args(Chats)
