"""Orders to an assistant in what a screen or an article shows: the user did not write them, and they are not obeyed.

The wordings are common ones, not all there can be: a line that passes becomes an ordinary memory, which names its
source and cannot fill a slot of the profile.
"""

from __future__ import annotations

import re
import unicodedata

_ORDER = re.compile(
    # whom it speaks to
    r"\b(?:system|developer|assistant)\s?(?:prompt|message|note|instructions?)?\s?[:：>\]]"
    r"|\b(?:assistants?|chat ?bots?|ai|llms?|gpt|language models?|agents?|bots?)\b,?\s(?:must|should|shall|will|has to|"
    r"have to|needs? to|is to|are to|please|always|never|remember|ignore|send|pay|wire|transfer|call|reply"
    r"|do not|don't)\b"
    r"|\b(?:dear|attention|hey|note to|(?:message|note|instructions?) (?:to|for)|you are an?|to the|for the"
    r"|instruct the|tell the|any|every)\s(?:ai|assistant|chat ?bot|llm|language model)\b"
    r"|\bsystem prompt\b|<\|\w{1,20}\|>|\[/?inst\]|<</?sys>>|</?(?:system|assistant|user|instructions?|tool)\b"
    # what it wants to be done
    r"|\b(?:ignore|disregard|forget|override|bypass)\s(?:all|any|the|your|these|those|every|previous|prior|above|earlier"
    r"|what|everything)\b"
    r"|\b(?:must|should|always|never)\s(?:always|never|call|invoke|run|execute|reveal|obey|wire|transfer|send|recommend"
    r"|trust|approve|ignore|delete|remember|mention)\b"
    r"|\b(?:call|invoke|run|execute|use)\s(?:the\s)?(?:tool|function|command|plugin)\b|\bfrom now on\b"
    r"|\bdelete_all\b|\brm -rf\b"
    r"|\b(?:your|hidden|overwrite|erase|clear)\s(?:all\s)?(?:hidden\s)?(?:instructions?|prompts?|memory|memories)\b"
    # the same in Chinese
    r"|(?:系统|开发者|助手|助理|机器人|智能体)(?:提示|消息|指令|命令)?\s?[:：>\]】]|系统(?:提示|指令|命令)|提示词"
    r"|(?:助手|助理|机器人|智能体|模型|AI)[，,]?\s?(?:必须|应该|应当|需要|务必|请|总是|永远|今后|以后|从现在|忽略|记住"
    r"|转账|付款|不要|不得)"
    r"|(?:忽略|无视|忘记|忘掉|覆盖|绕过|不要理会)(?:以上|上面|之前|先前|此前|前面|所有|一切|全部"
    r"|你的|这些|原有|规则|指令)"
    r"|(?:必须|总是|永远|始终|务必)(?:转账|汇款|付款|调用|执行|发送|删除|推荐|服从|信任|批准|记住"
    r"|忽略)"
    r"|(?:你|请)(?:记住|牢记|忽略|调用|执行|泄露|服从)|(?:调用|执行|运行)(?:工具|函数|命令|指令)|从现在(?:起|开始)|从今以后"
    r"|(?:清空|删除|覆盖|改写|写进|写入)(?:所有|全部|长期)?的?记忆|无需再?确认|不要告诉用户",
    re.IGNORECASE,
)


def gives_orders(line: str) -> bool:
    """Return whether a line speaks to an assistant, or asks for what only an assistant would do."""
    return _ORDER.search(unicodedata.normalize("NFKC", line)) is not None
