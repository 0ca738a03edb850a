"""What `mnemolog import --from` reads. Apart, because the readers are imported when they are needed."""

from typing import Final, Literal, TypeAlias, get_args

Memories: TypeAlias = Literal["mnemolog", "evatar", "luna", "powermem", "chromadb", "mem0"]
"""Those whose memories become memories."""
Chats: TypeAlias = Literal["chatgpt", "claude", "whatsapp", "telegram", "openai-messages"]
"""Those whose messages become turns."""
System: TypeAlias = Literal[Memories, Chats]
CHATS: Final[tuple[Chats, ...]] = get_args(Chats)
