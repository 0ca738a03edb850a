"""The systems whose memories `mnemolog import --from` reads. Apart, because their readers are imported when needed."""

from typing import Literal, TypeAlias

System: TypeAlias = Literal["mnemolog", "evatar", "luna", "powermem", "chromadb", "mem0"]
