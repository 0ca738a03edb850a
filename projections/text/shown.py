"""The parts of a turn that the user does not state: pasted e-mails, essays, chats, logs, code, quotations, role play.

Another person wrote these words, or they are meant for another person, so they state nothing about the user. The form
of a text, and the user's remarks on it, tell whether it is pasted; each cue covers both languages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_THING: Final = (
    r"(?:e-?mails?|essays?|cv|resume|résumé|letters?|poems?|lyrics?|songs?|story|stories|logs?|code|drafts?|texts?"
    r"|article|paragraphs?|transcript|chat|conversation|messages?|speech|error|trace(?:back)?|output|post|tweet"
    r"|sentences?|diary|monologue|form|profile|application|comment|review|abstract|passage|dialogue|script|caption|bio"
    r"|snippet|quote|thread|notes|report|excerpt|chapter|verse|chorus|stanza|ending|homework)"
)
_ORDER: Final = (
    r"(?:translate|proof-?read|rewrite|rephrase|paraphrase|summari[sz]e|correct|fix|edit|polish|improve|shorten|review"
    r"|critique|explain|analy[sz]e|check|debug|reply to|respond to|answer|grade|rate|continue|format|feedback on)"
)
_ZH_THING: Final = (
    r"(?:作文|邮件|简历|求职信|情书|信|诗|歌词|小说|故事|日志|代码|草稿|文章|聊天记录|对话|报错|段落|演讲稿|文案"
    r"|句子|文字|内容|日记|资料|留言|帖子?|台词|独白|介绍|启事|[歌段表]|笔记|摘要|论文|剧本|评论|朋友圈|消息|话)"
)
_ZH_ORDER: Final = (
    r"(?:翻[译成]|润色|改写|总结|概括|修改|校对|改一?下|改[标错病]|检查|解释|分析|回复|续写|点评|看一?看|看一?下|缩写|扩写"
    r"|筛|批改|审一?[下审]|评一?[下评])"
)
_HANDED_OVER: Final = re.compile(
    rf"(?:(?:^|[.!?\n]\s{{0,3}}|\b(?:can|could|would|will) you (?:please |help me )?|\bplease |\bhelp me (?:to )?)"
    rf"{_ORDER}\b[^:：\n.]{{3,80}}|\b(?:here(?:'s| is| are)|this is|below is|following)\b[^:：\n.]{{0,30}}"
    rf"\b{_THING}\b[^:：\n.]{{0,80}}|{_ZH_ORDER}[^:：\n。]{{0,30}}|(?:这是|下面是|以下是|如下|[写发收贴]的)"
    rf"[^:：\n。]{{0,16}}{_ZH_THING}[^:：\n。]{{0,12}}|刚?[写发收贴]的)(?:[:：][ \t]*(?:\n+)?|\n+)(?=\S)"
    r"|^(?:summari[sz]e|translate|proof-?read|rewrite|rephrase|paraphrase|polish):[ \t]*(?=\S)"
    rf"|^(?![^\n]{{0,40}}(?:\bmy (?:\w+ )?(?:story|notes)|我的|我想))[^:：\n]{{0,80}}(?:\b{_THING}\b"
    rf"|\b(?:saw|found|read|got|wrote|posted|says|(?:sent|texted)(?: me| us)?) this\b|{_ZH_THING}|[看刷]到的?"
    rf"|[发转]来的?|网友)[^:：\n]{{0,60}}[:：]\s{{0,3}}\n(?=\s{{0,3}}\S)",
    re.IGNORECASE | re.MULTILINE,
)
"""The user's introduction of a pasted text, which follows it."""
_REPORTED: Final = re.compile(
    r"(?:(?<!\bI )(?<!\bi )(?<!\bwe )\b(?:e-?mailed|texted|messaged|wrote|posted|replied)"
    r"(?: (?:to )?(?:me|us|her|him|them|back))?|\b(?:e-?mail|message|text|letter|post) (?:of|from|by) \w[\w.' ]{0,30}"
    r"|(?<!我)(?:发来|发给我|写给我|写来)的?[^：:。\n]{0,8}|(?<!我)回复(?:我|说)?)\s?[:：][ \t]*(?=[^\s\"“「])[^\n]+",
    re.IGNORECASE,
)
"""The words of another person: those after the colon, up to the end of the line."""
_ASKED: Final = (
    rf"(?:\b{_ORDER}\b|\b(?:add|finish|what do you think|thoughts|help|can you|could you|look at|please)\b|[?？]"
    rf"|{_ZH_ORDER}|续|帮|[吗呢不]\W{{0,3}}$|怎么|行不|哪|几分|如何|转发|意见|建议)"
)
_ASKED_OF: Final = re.compile(
    rf"^(?=.*{_ASKED})"
    r"(?!.*(?:\b(?:write|draft|send|answer|reply|respond)\b|怎么[写回]|帮我写|写一))"
    rf"(?:\W{{0,3}}\^|.*(?:\b(?:this|these|below|following)(?: \w+){{0,2}} {_THING}\b|\b(?:make|does|like) this "
    r"(?:sound|read|\w+er|more)|\b(?:translate|proof-?read|rewrite|rephrase|summari[sz]e|correct|polish|grade|rate"
    r"|think of|thoughts on) (?:this|these|it)\b"
    rf"|(?:这[段篇首份]|下面|以下|转发)[^\n]{{0,8}}{_ZH_THING}|这[段篇首](?!时间|路|经历)))",
    re.IGNORECASE,
)
"""A first or last line that asks something about the text next to it, and does not ask for a new one."""
_OF_ANOTHER: Final = re.compile(
    r"(?<!\bmy )\b(?:cv|vitae|resume|résumé|bewerbung|lebenslauf|form|profile|application"
    r"|(?:applicant|candidate|patient)s?|this (?:kid|child|boy|girl|guy|man|woman|person|pupil|client|customer))\b"
    r"|(?<!我的)(?:简历|资料|[息记名检历]表|档案|病历)|候选人|应聘|病人|这[个位](?:人|孩|学|客|女|男)"
    rf"|^(?=.*(?:{_ASKED}|\b(?:what|should|how|which|tell me)\b)).*(?:\b(?:he|she|him|her)\b|[他她])",
    re.IGNORECASE,
)
"""A remark on a form that another person filled in."""
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|my|me|we)\b|我", re.IGNORECASE)
_QUOTATION: Final = re.compile(
    r"(?P<lead>^[^:：\n\"“「『«]{0,120}[:：]\s{0,3})?(?P<said>(?<![A-Za-z0-9])[\"“„](?=\S)[^\"“”„]+[\"”“](?![A-Za-z0-9])"
    r"|「[^「」]+」|『[^『』]+』|«[^«»]+»)|^[\"“„「『«][^\"“”„」』»]+\Z",
    re.MULTILINE,
)
_SEVERAL: Final = re.compile(r"\S\s*\n\s*\S|(?<!\b[A-Z][a-z])(?<!\b[A-Z])[.!?…]\s{1,3}\w|[。！？]\s{0,3}\w")
_PLAYED: Final = re.compile(
    r"(?:^|\b(?:let'?s|please|(?:can|could|shall) (?:we|you)|want to|wanna|we(?:'re| are)?|this is an?) "
    r"(?:do |play |try |have |start )?(?:an? |some )?)role[- ]?play(?!ing games?)|\b(?:let'?s pretend|play pretend"
    r"|pretend (?:that )?(?:i|you|we|to)\b|act as (?:an?|my|the|if)\b"
    r"|you are now an?\b|\b(?:do|play|act out|continue|start) (?:an?|the|this|our) (?:\w+ )?scene\b"
    r"|\byou(?:'re| are) (?:the|an?) \w+(?: \w+)?,? (?:and )?i(?:'m| am) (?:the|an?|your)\b"
    r"|imagine (?:that )?(?:i'?m|i am|you'?re|you are)\b|my character\b|in character\b"
    r"|write (?:me )?(?:an?|the) (?:story|poem|song|scene|dialogue|essay|speech|letter|bio|monologue)\b)"
    r"|^\*(?=[a-z])[^*\n]{3,80}\*|扮演|角色扮演|演一?[段场出]|演戏|[你我]演|我演的|假装(?:你|我|咱)|假设(?:你|我)是|你现在是一[个名位]"
    r"|设定[:：]|写一?[篇首段封个](?:故事|诗|歌|小说|作文|剧本|独白|情书)",
    re.IGNORECASE,
)
_LABELLED: Final = re.compile(
    r"^\W{0,3}(?P<who>[^\W\d_][\w .'·-]{0,24}?)\s?(?:\([^)\n]{1,20}\))?[:：]\s*\S", re.UNICODE
)
_FIELD: Final = re.compile(
    r"(?:name|age|city|job|hobb(?:y|ies)|likes?|dislikes?|work|birthday|e-?mail|phone|address|occupation|note|ps|p\.s"
    r"|update|edit|todo|question|answer|q|a|reminder|tip|fact|tl;?dr|btw|fyi|goal|plan|date|time|place|budget|allergies"
    r"|姓名|名字|年龄|城市|职业|爱好|工作|生日|邮箱|电话|地址|备注|问题|目标|计划|时间|地点|预算|过敏|喜欢|讨厌"
    r"|性别|身高|体重)s?",
    re.IGNORECASE,
)
_ROLE: Final = re.compile(
    r"(?:user|assistant|human|ai|bot|system|me|you|customer|agent|support|用户|助手|客服|我|你|对方)", re.IGNORECASE
)
_EXPORTED: Final = re.compile(
    r"^\W{0,2}\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[, T]{1,3}\d{1,2}:\d\d(?::\d\d)?(?:\s?[APap]\.?[Mm]\.?)?\W{0,4}\S"
    r"|^[\w .'-]{1,24}\s{1,3}\d{1,2}:\d\d(?:\s?[APap][Mm])?$"
    r"|^\W{0,2}\d{1,2}:\d\d(?::\d\d)?\W{1,4}[^:：\n]{1,30}[:：]"
    r"|^[^\n:：]{1,24}\s\d{4}[/.-]\d{1,2}[/.-]\d{1,2} \d{1,2}:\d\d(?::\d\d)?$"
)
"""A line of a messenger's export, or of a log."""
_MACHINE: Final = re.compile(
    r"^\s*(?:at [\w.$<>]+\(|Traceback |File \"|[A-Z]\w+(?:Error|Exception)\b|(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL)\b"
    r"|[{}\[\]]|<[/!?a-z]|(?:def|class|import|from|return|const|let|var|function|public|private|SELECT|INSERT)\b.*[:;({=]"
    r"|[\w.]+\s?=\s?\S|\$ |npm |#include|//)"
)
_ONE_LABELLED: Final = re.compile(
    r"^\W{0,3}(?!(?i:note|ps|fyi|update|edit|reminder|question|answer|fact|btw|correction|name|注|备注|问题|更正)\b)"
    r"(?:[A-Z][a-z]{1,15}|[一-鿿]{2,4})\s?[:：]\s*(?:I\b|I'|[Mm]y\b|[Hh]i\b|[Hh]ey\b|我)"
)
"""One line of a conversation: a name, and what that person says about themselves."""
_LOGGED: Final = re.compile(
    r"^\W{0,2}(?:(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|TRACE)\b|SELECT\b|INSERT INTO\b"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)"
)
_HEADER: Final = re.compile(
    r"^\s*(?:from|to|cc|sent|date|subject|re|fwd|发件人|收件人|抄送|主题|日期)\s?[:：]", re.IGNORECASE
)
_SALUTATION: Final = re.compile(r"^\s*(?:dear|hi|hello|hey|尊敬的|亲爱的).{0,40}[,，:：]\s*$", re.IGNORECASE)
_CLOSING: Final = re.compile(
    r"^\s*(?:(?:best|kind|warm) regards|regards|best|sincerely|yours|cheers|thanks|thank you|many thanks|love"
    r"|此致|敬礼|祝好|谢谢)\b.{0,20}[,，.!]?\s*$",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(
    r"^\W{0,4}(?:(?:work |professional )?experience|education|skills|references|summary|objective|certifications?"
    r"|employment(?: history)?|languages|interests"
    r"|工作经历|教育背景|教育经历|专业技能|自我评价|项目经验|求职意向)\W{0,3}$",
    re.IGNORECASE,
)
_FOUND: Final = re.compile(
    rf"\b(?:saw|found|read|got|came across|look at) (?:this|an?|the)\b.{{0,40}}\b{_THING}\b"
    rf"|\b(?:this|the) (?:is the )?(?:example|template|sample|{_THING})\b.{{0,40}}[:：]$"
    rf"|\bexample (?:they|he|she|i)\b.*[:：]$"
    rf"|(?:[看刷翻读]到|收到|[发写贴]来)了?[^。！？]{{0,10}}{_ZH_THING}",
    re.IGNORECASE,
)
"""A line that introduces the paragraph below it as found elsewhere, or as an example."""
FEW: Final = 2
MOST_LINES: Final = 2_000


def said_of(text: str) -> str:
    """Return the user's own statements in a turn, without the parts it shows; the same text if it shows nothing."""
    said = _CODE.sub("\n", text)
    if _PLAYED.search(said):
        return ""
    said = _REPORTED.sub(lambda found: re.split("[:：]", found.group(), maxsplit=1)[0] + ".", said)
    said = _QUOTATION.sub(_without_quoted, said)
    handed = _HANDED_OVER.search(said)
    if handed and (handed.group().rstrip()[-1] in ":：" or len(said) - handed.end() > len(handed.group())):
        said = said[: handed.start()]
    first, _, behind = said.strip().partition("\n")
    before, _, last = said.strip().rpartition("\n")
    if (behind.strip() and _ASKED_OF.match(first)) or (_SEVERAL.search(before.strip()) and _ASKED_OF.match(last)):
        return ""
    said = _without_found(said)
    lines = said.split("\n")
    if said.strip():
        hidden = _shown_lines(lines[:MOST_LINES])
        said = "\n".join(line for number, line in enumerate(lines) if number not in hidden)
    return text if said == text else said


def _without_found(said: str) -> str:
    """Return a text without the paragraph that its first line introduces as found elsewhere."""
    first, _, below = said.partition("\n")
    if not below.strip() or not _FOUND.search(first.strip()):
        return said
    _, _, rest = below.strip("\n").partition("\n\n")
    return f"{first}\n{rest}"


def _without_quoted(found: re.Match[str]) -> str:
    """Return a quotation of one sentence unchanged, and only the quotation marks of a longer one."""
    quoted = found["said"] or found.group()
    if not _SEVERAL.search(quoted[1:-1]):
        return found.group()
    return f"{quoted[0]}…{quoted[-1]}" if found["said"] and not found["lead"] else ""


def _shown_lines(lines: Sequence[str]) -> set[int]:
    """Return the numbers of the lines that belong to a chat, a log, an e-mail, a CV or a quotation."""
    if len(lines) == 1:
        is_shown = _is_quoted(lines[0]) or any(form.match(lines[0]) for form in (_ONE_LABELLED, _EXPORTED, _LOGGED))
        return {0} if is_shown else set()
    hidden = {number for number, line in enumerate(lines) if _is_quoted(line)}
    exported, machine, headers, headings = (
        [number for number, line in enumerate(lines) if form.match(line)]
        for form in (_EXPORTED, _MACHINE, _HEADER, _HEADING)
    )
    hidden |= _form_of_another(lines)
    for found in (exported, _labelled(lines)):
        if len(found) >= FEW or (found is exported and found):
            hidden |= set(range(found[0], _end_of_talk(lines, found[-1])))
    if len(machine) > FEW:
        hidden |= set(range(machine[0], machine[-1] + 1))
    for found in (headers, headings):
        if len(found) >= FEW:
            hidden |= set(range(max(0, found[0] - (found is headings) * 4), len(lines)))
    begins = next((n for n, line in enumerate(lines) if _SALUTATION.match(line)), None)
    ends = next(
        (n for n, line in enumerate(lines) if begins is not None and n > begins + 1 and _CLOSING.match(line)), None
    )
    if begins is not None and ends is not None:
        hidden |= set(range(begins, min(len(lines), ends + FEW)))
    return hidden


def _end_of_talk(lines: Sequence[str], last: int) -> int:
    """Return the number of the line with which the user resumes after a conversation or a log.

    That is the first blank line after the last message, or the last line if it asks something.
    """
    blank = next((number for number in range(last + 1, len(lines)) if not lines[number].strip()), len(lines))
    asks_below = last + 1 < len(lines) == blank and re.search(_ASKED, lines[-1], re.IGNORECASE)
    return len(lines) - 1 if asks_below else blank


def _form_of_another(lines: Sequence[str]) -> set[int]:
    """Return the numbers of the lines of a form, and of the lines around it that speak of it or of its subject.

    Returns an empty set if no line speaks of it: the form may be the user's own.
    """
    found = [number for number, line in enumerate(lines) if _LABELLED.match(line)]
    if len(found) < FEW:
        return set()
    beside = {n for n, line in enumerate(lines) if _OF_ANOTHER.search(line) or _ASKED_OF.match(line)}
    beside -= set(range(found[0], found[-1] + 1))
    behind = range(found[-1] + 1, len(lines))
    end = next((n for n in behind if not lines[n].strip() or _FIRST_PERSON.search(lines[n])), len(lines))
    return beside | set(range(found[0], end)) if beside else set()


def _labelled(lines: Sequence[str]) -> list[int]:
    """Return the numbers of the lines that begin with a speaker's name; empty if they are fields of a form."""
    found = [(number, match["who"].strip()) for number, line in enumerate(lines) if (match := _LABELLED.match(line))]
    names = [who for _, who in found]
    if any(_FIELD.fullmatch(who) for who in names):
        return []
    is_talk = len(set(names)) < len(names) or any(_ROLE.fullmatch(who) for who in names)
    is_said = any(_ONE_LABELLED.match(lines[number]) for number, _ in found)
    return [number for number, _ in found] if is_talk or (is_said and len(names) >= FEW) else []


def _is_quoted(line: str) -> bool:
    return line.lstrip()[:1] in (">", "＞", "♪")
