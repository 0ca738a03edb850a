"""Exports of chats, in the forms that the programs write: turns with their speakers and times, and nothing twice."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import orjson
import pytest
from support.tables import each

from mnemolog.cli.lines.event_lines import BadLine, EventLine
from mnemolog.extensions.migration.chats.claude import _shown
from mnemolog.extensions.migration.chats.sources import Export
from mnemolog.extensions.migration.rows import Unreadable
from schemas.inputs.input_events import new_event
from schemas.instant import read_instant

if TYPE_CHECKING:
    from mnemolog.extensions.migration.systems import Chats

SAMPLES = Path(__file__).parents[3] / "data" / "chats"
NOW = read_instant("2026-11-29")
FILES: dict[Chats, str] = {
    "chatgpt": "chatgpt.json",
    "claude": "claude.json",
    "telegram": "telegram.json",
    "whatsapp": "whatsapp_iphone.txt",
    "openai-messages": "openai_messages.jsonl",
}
IN_ZIP: dict[Chats, str] = {
    "chatgpt": "export/conversations.json",
    "claude": "conversations.json",
    "telegram": "ChatExport_2026-01-05/result.json",
    "whatsapp": "_chat.txt",
    "openai-messages": "messages.jsonl",
}


def events(system: Chats, path: Path, me: str | None = None, **how: Any) -> list[dict[str, Any]]:
    """Return the events, each of which a worker would accept."""
    found = []
    for line, _ in Export(system, str(path), **how).rows(None, me).read():
        assert isinstance(line, EventLine), line
        assert not line.is_named
        new_event(line.event, tenant="default", accepted_at=NOW, event_id="none")
        found.append(line.event)
    assert len({event["event_id"] for event in found}) == len(found)
    return found


def said(found: list[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Return who said what when, and where sessions end."""
    return [
        (
            event.get("name") or event.get("role", "end"),
            event.get("content", ""),
            event["occurred_at"][:19] if "occurred_at" in event else "",
            event["session_id"].partition(":")[2],
        )
        for event in found
    ]


def test_of_chatgpt_the_way_to_the_current_node_is_read_and_no_tool_thought_or_instruction():
    assert said(events("chatgpt", SAMPLES / FILES["chatgpt"])) == [
        ("user", "I have moved, I live in Rome now.", "2026-01-05T08:00:00", "c-2"),
        ("assistant", "Lovely city!", "2026-01-05T08:00:10", "c-2"),
        ("user", "My dog is called Rex.", "2026-01-05T08:02:00", "c-2"),
        ("end", "", "2026-01-05T08:02:00", "c-2"),
        ("user", "I live in Berlin.", "2023-11-14T22:14:20", "c-1"),
        ("assistant", "Berlin it is.", "2023-11-14T22:14:35", "c-1"),
        ("end", "", "2023-11-14T22:14:35", "c-1"),
    ]


def test_without_a_current_node_the_leaf_that_was_made_last_ends_the_conversation(tmp_path: Path):
    conversations = orjson.loads((SAMPLES / FILES["chatgpt"]).read_bytes())
    del conversations[1]["current_node"]
    (tmp_path / "conversations.json").write_bytes(orjson.dumps(conversations[1:]))
    found = said(events("chatgpt", tmp_path / "conversations.json"))
    assert [text for _, text, _, _ in found] == ["I live in Berlin.", "Berlin it is.", ""]


def test_of_claude_the_words_are_read_without_thoughts_calls_and_attachments():
    assert said(events("claude", SAMPLES / FILES["claude"])) == [
        ("user", "I am allergic to peanuts.", "2026-01-05T08:00:00", "k-1"),
        ("assistant", "Noted.", "2026-01-05T08:00:20", "k-1"),
        ("end", "", "2026-01-05T08:00:20", "k-1"),
        ("user", "I work as a nurse.", "2026-02-05T08:00:00", "k-2"),
        ("end", "", "2026-02-05T08:00:00", "k-2"),
    ]


def test_of_claude_only_the_branch_that_is_shown_is_read_where_the_export_says_which():
    def message(name: str, parent: str, sender: str) -> dict[str, Any]:
        return {"uuid": name, "parent_message_uuid": parent, "sender": sender, "text": name}

    told = [message("a", "-", "human"), message("b", "a", "assistant"), message("c", "a", "assistant")]
    assert [one["uuid"] for one in _shown(told, "c")] == ["a", "c"]
    assert [one["uuid"] for one in _shown(told, None)] == ["a", "b", "c"]


def test_an_export_of_all_of_telegram_says_who_the_user_is_and_others_keep_their_names():
    found = events("telegram", SAMPLES / FILES["telegram"])
    assert [one for one in said(found) if one[0] != "end"] == [
        ("user", "I play the cello, see this.", "2026-01-05T08:00:10", "222:2026-01-05"),
        ("Bob", "I teach maths.", "2026-01-05T08:00:20", "222:2026-01-05"),
        ("Bob", "I live in Turin.", "2026-01-06T08:00:30", "222:2026-01-06"),
        ("user444", "I was deleted.", "2026-01-07T09:00:00", "333:2026-01-07"),
        ("user", "My cat is called Tom.", "2026-01-08T08:00:00", "555:2026-01-08"),
        ("assistant", "Hello!", "2026-01-08T08:00:01", "555:2026-01-08"),
    ]
    assert {event["metadata"]["user_name"] for event in found if event["type"] == "TurnRecorded"} == {"user111"}


def test_of_one_chat_of_telegram_the_user_is_who_is_not_its_person_and_of_a_group_must_be_named(tmp_path: Path):
    chats = orjson.loads((SAMPLES / FILES["telegram"]).read_bytes())["chats"]["list"]
    (tmp_path / "result.json").write_bytes(orjson.dumps(chats[0]))
    assert [one[0] for one in said(events("telegram", tmp_path))] == ["user", "Bob", "end", "Bob", "end"]
    (tmp_path / "result.json").write_bytes(orjson.dumps(chats[0] | {"type": "private_group"}))
    with pytest.raises(Unreadable, match=re.escape("name one with --me, of Bob (2), Ann Lee (1)")):
        events("telegram", tmp_path)
    assert [one[0] for one in said(events("telegram", tmp_path, me="user222"))][:2] == ["Ann Lee", "user"]


def test_of_an_iphones_whatsapp_lines_go_on_and_notices_marks_and_media_are_left_out():
    export = Export("whatsapp", str(SAMPLES / FILES["whatsapp"]))
    assert [one[:3] for one in said(events("whatsapp", SAMPLES / FILES["whatsapp"], me="Ann"))] == [
        ("user", "I row every Sunday.\nAlso in winter:\n07.01.26 is the first time", "2026-01-05T08:00:05"),
        ("Bob", "I live in Turin.", "2026-01-05T08:01:10"),
        ("user", "our boat", "2026-01-05T08:01:20"),
        ("user", "ok", "2026-01-05T08:01:20"),
        ("user", "ok", "2026-01-05T08:01:20"),
        ("end", "", "2026-01-05T08:01:20"),
        ("+39\u00a0011\u00a0555", "I cox", "2026-01-16T23:59:59"),
        ("end", "", "2026-01-16T23:59:59"),
    ]
    assert sorted(export.survey().left_out.values()) == [1, 2]


def test_of_androids_whatsapp_the_clock_of_twelve_hours_and_captions_are_read():
    found = events("whatsapp", SAMPLES / "whatsapp_android.txt", me="Ann", timezone="America/New_York")
    assert [one[:3] for one in said(found)] == [
        ("user", "I was up late.", "2026-01-05T00:05:00"),
        ("Bob", "my new bike", "2026-01-05T13:00:00"),
        ("user", "see https://example.org: it is 10:30 now", "2026-01-05T13:01:00"),
        ("end", "", "2026-01-05T13:01:00"),
        ("Bob", "I teach maths. (really)", "2026-01-13T21:03:00"),
        ("end", "", "2026-01-13T21:03:00"),
    ]
    assert (found[0]["occurred_at"][19:], found[0]["metadata"]["timezone"]) == ("-05:00", "America/New_York")


@each(
    ("head", "at"),
    [
        ("[2026/1/25 下午2:30:22] ", "2026-01-25T14:30:22"),
        ("2026/1/25 14:30 - ", "2026-01-25T14:30:00"),
        ("2026-01-25 14:30 - ", "2026-01-25T14:30:00"),
        ("[25.1.2026 klo 14.30.22] ", "2026-01-25T14:30:22"),
        ("25.01.26, 14:30 - ", "2026-01-25T14:30:00"),
        ("25/01/2026, 2:30 p. m. - ", "2026-01-25T14:30:00"),
        ("25/01/2026, 2:30\u202fpm - ", "2026-01-25T14:30:00"),
        ("25/01/2026 à 14:30 - ", "2026-01-25T14:30:00"),
        ("[25-01-26 12:05:00] ", "2026-01-25T12:05:00"),
        ("2026. 1. 25. 오후 2:30 - ", "2026-01-25T14:30:00"),
        ("\u200e[1/25/26, 12:05:00\u202fAM] ", "2026-01-25T00:05:00"),
        ("٢٥/٠١/٢٠٢٦, ٢:٣٠ م - ", "2026-01-25T14:30:00"),
    ],
)
def test_times_of_whatsapp_are_read_in_the_forms_of_phones(tmp_path: Path, head: str, at: str):
    (tmp_path / "_chat.txt").write_text(f"{head}Ann: hello", "utf-8")
    assert said(events("whatsapp", tmp_path, me="Ann"))[0][:3] == ("user", "hello", at)


@each(
    ("days", "first"),
    [
        (["01/02/26", "13/02/26"], "2026-02-01"),
        (["01/02/26", "01/13/26"], "2026-01-02"),
        (["01/02/26", "02/02/26", "01/03/26"], "2026-02-01"),
        (["01/02/26", "01/03/26", "02/01/26"], "2026-01-02"),
        (["03.02.26"], "2026-02-03"),
        (["01/02/26"], None),
        (["13/02/26", "01/13/26"], None),
    ],
)
def test_which_number_is_the_day_is_told_from_the_whole_file_or_asked_for(
    tmp_path: Path, days: list[str], first: str | None
):
    (tmp_path / "_chat.txt").write_text("\n".join(f"{day}, 14:30 - Ann: on {day}" for day in days), "utf-8")
    if first is None:
        with pytest.raises(Unreadable, match="say --dates dmy or mdy"):
            events("whatsapp", tmp_path, me="Ann")
        return
    assert said(events("whatsapp", tmp_path, me="Ann"))[0][2][:10] == first


def test_messages_of_openai_need_no_ids_and_no_times():
    assert [one[:3] for one in said(events("openai-messages", SAMPLES / FILES["openai-messages"]))] == [
        ("user", "I play chess.", ""),
        ("assistant", "Good.", ""),
        ("end", "", ""),
        ("user", "I play chess.", ""),
        ("assistant", "Still?", ""),
        ("end", "", ""),
        ("user", "I speak Dutch.", "2026-01-05T08:00:00"),
        ("end", "", "2026-01-05T08:00:00"),
    ]


@each(
    "content",
    [
        b'[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]',
        b'{"role": "user", "content": "hi"}\n\n{"role": "assistant", "content": "ho"}\n',
        b'{\n "messages": [{"role": "human", "content": "hi"}, {"role": "ai", "content": [{"text": "ho"}]}]\n}',
        b'\xef\xbb\xbf[{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}]',
    ],
)
def test_messages_of_openai_are_a_list_lines_or_conversations(tmp_path: Path, content: bytes):
    (tmp_path / "m.json").write_bytes(content)
    found = events("openai-messages", tmp_path / "m.json")
    assert [(one[0], one[1]) for one in said(found)] == [("user", "hi"), ("assistant", "ho"), ("end", "")]
    assert len({event["session_id"] for event in found}) == 1


def test_a_line_that_is_no_message_is_told_and_the_others_go_on(tmp_path: Path):
    (tmp_path / "m.jsonl").write_text('{"role": "user", "content": "hi"}\n{"role": 5}\n{"rol\n[]\n{"content": "x"}\n')
    rows = Export("openai-messages", str(tmp_path / "m.jsonl")).rows(None, None)
    bad = [(line.line, line.error) for line, _ in rows.read() if isinstance(line, BadLine)]
    assert [line for line, _ in bad] == [2, 3, 4, 5]
    assert "is not JSON" in bad[1][1]


@pytest.mark.parametrize("system", FILES)
def test_an_export_is_read_as_it_comes_from_a_zip_in_gzip_or_in_a_folder(tmp_path: Path, system: Chats):
    sample = SAMPLES / FILES[system]
    me = "Ann" if system == "whatsapp" else None
    expected = events(system, sample, me)
    with ZipFile(tmp_path / "export.zip", "w") as zipped:
        zipped.writestr("__MACOSX/._conversations.json", b"\0")
        zipped.writestr("chat.html", "<html>")
        zipped.write(sample, IN_ZIP[system])
    (tmp_path / "plain.gz").write_bytes(gzip.compress(sample.read_bytes()))
    folder = tmp_path / "folder" / IN_ZIP[system]
    folder.parent.mkdir(parents=True)
    folder.write_bytes(sample.read_bytes())
    for path in (tmp_path / "export.zip", tmp_path / "plain.gz", tmp_path / "folder"):
        assert events(system, path, me) == expected


def test_a_longer_export_of_the_same_chat_repeats_what_was_there_and_ends_anew(tmp_path: Path):
    text = (SAMPLES / FILES["whatsapp"]).read_text("utf-8")
    longer = text + "[16.01.26, 23:59:59] Ann: I am back.\r\n"
    (tmp_path / "_chat.txt").write_text(longer, "utf-8")
    before = events("whatsapp", SAMPLES / FILES["whatsapp"], me="Ann")
    after = events("whatsapp", tmp_path, me="Ann")
    new = [event for event in after if event["event_id"] not in {one["event_id"] for one in before}]
    assert [(event["type"], event.get("content")) for event in new] == [
        ("TurnRecorded", "I am back."),
        ("SessionEnded", None),
    ]
    assert [event for event in before if event["type"] == "TurnRecorded"] == [
        event for event in after if event["type"] == "TurnRecorded" and event not in new
    ]


@each(
    ("system", "content", "match"),
    [
        ("whatsapp", b"hello", "line 1 begins with no time"),
        ("whatsapp", b"", "is empty"),
        ("whatsapp", "25.01.26, 14:30 - é: x".encode("latin-1"), "no text in UTF-8 from line 1"),
        ("whatsapp", b"25.01.26, 14:30 - Bob: x", "nobody is called Ann in it: name one with --me, of Bob"),
        ("chatgpt", b"{}", "has no list under conversations"),
        ("telegram", b"not json", "not the JSON"),
        ("claude", b"\x1f\x8bno", "damaged|Not a gzipped"),
    ],
)
def test_a_file_that_is_no_such_export_says_what_was_expected(
    tmp_path: Path, system: Chats, content: bytes, match: str
):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(OSError, match=match):
        events(system, tmp_path / "file", me="Ann")


def test_a_folder_without_such_a_file_and_a_zone_that_is_none_are_told(tmp_path: Path):
    with pytest.raises(Unreadable, match="no file that is called as expected"):
        Export("telegram", str(tmp_path))
    with pytest.raises(ValueError, match="'Nowhere' is no time zone"):
        Export("telegram", str(tmp_path), timezone="Nowhere")


def test_conversations_of_another_program_are_bad_lines():
    found = Export("claude", str(SAMPLES / FILES["chatgpt"])).survey()
    assert [(bad.line, bad.error) for bad in found.bad] == [
        (1, "this is no conversation of Claude: it has no chat_messages"),
        (2, "this is no conversation of Claude: it has no chat_messages"),
    ]
