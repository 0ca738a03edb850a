"""Pictures instead of text: what is one, how large, from where, and what becomes of it on the way to a model."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from support.tables import each
from support.workbench import CharacterEmbedder, EchoExtractor

from schemas import codec
from schemas.inputs.decoding import digest_of
from schemas.inputs.images import MAX_IMAGE_BYTES, VisionPolicy, image_faults, media_type
from schemas.inputs.input_events import InvalidEvent, parse_event
from schemas.inputs.pieces import is_extractable, piece_count
from schemas.messages.inbox import ExtractionRejected
from schemas.messages.observations import ScreenshotAnalysed
from streams.extraction.model.prompts import SEE_PICTURE, messages
from streams.extraction.request import ExtractionService
from streams.extraction.window import pieces_of, window_of

MONDAY = datetime(2026, 1, 5, 8, tzinfo=UTC)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)
URL = "https://img.example.org/a.png"


def screen(**more: Any) -> ScreenshotAnalysed:
    raw = {"type": "ScreenshotAnalysed", "event_id": "p-1", "user_id": "u1", "occurred_at": "2026-01-05T08:00:00Z"}
    message = parse_event(raw | more, tenant="default", accepted_at=MONDAY, event_id="x")
    assert isinstance(message, ScreenshotAnalysed)
    return message


def faults(**more: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidEvent) as caught:
        screen(**more)
    return [(fault.path, fault.message) for fault in caught.value.faults]


def test_an_image_comes_as_base64_or_as_a_url_instead_of_a_text():
    message = screen(image=b64encode(PNG).decode(), app="Bank")
    assert (message.image, message.image_url, message.text) == (PNG, None, "")
    assert screen(image="data:image/png;base64," + b64encode(PNG).decode()).image == PNG
    assert screen(image_url=URL).image_url == URL
    assert codec.decode(codec.encode(message)) == message


def test_what_is_wrong_with_an_image_is_said_with_its_place():
    assert faults() == [("$.text", "is missing: give the text, or an image or image_url instead")]
    assert faults(image="!!") == [("$.image", "is not base64, alone or behind data:image/…;base64,")]
    assert faults(image=b64encode(b"no picture").decode()) == [("$.image", "is no PNG, JPEG, GIF or WebP")]
    assert faults(image=b64encode(PNG).decode(), text="x") == [("$.image", "stands instead of text: give one of them")]
    assert faults(image=b64encode(PNG).decode(), image_url=URL) == [
        ("$.image_url", "stands instead of image: give one of them")
    ]


def test_an_image_has_at_most_700_kib():
    most = PNG + bytes(MAX_IMAGE_BYTES - len(PNG))
    assert screen(image=b64encode(most).decode()).image == most
    [(path, message)] = faults(image=b64encode(most + b"x").decode())
    assert (path, message.partition(":")[0]) == ("$.image", "has 716801 bytes")


@each(
    "url",
    [
        "http://img.example.org/a.png",
        "https:///a.png",
        "https://user:pw@img.example.org/a.png",
        "file:///etc/passwd",
        "https://img.example.org:port/",
        "https://img.example.org/a b.png",
        "https://img.example.org/" + "a" * 2048,
    ],
)
def test_a_url_is_https_and_holds_no_password(url: str):
    assert [path for path, _ in image_faults("", None, url)] == ["$.image_url"]


@each(
    ("first", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"GIF87a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"<svg", None),
        (b"", None),
    ],
)
def test_an_image_is_known_by_its_first_bytes(first: bytes, kind: str | None):
    assert media_type(first) == kind


def test_only_hosts_that_are_allowed_are_passed_on_to_a_model_that_sees():
    sight = VisionPolicy(sees=True, hosts=frozenset({"img.example.org", "cdn.example.org:8443"}))
    assert sight.refusal(PNG) is None
    assert sight.refusal("https://IMG.example.org:443/a.png") is None
    assert sight.refusal("https://cdn.example.org:8443/a") is None
    for url in (
        "https://example.org/",
        "https://img.example.org:8443/",
        "https://img.example.org.evil.net/",
        "https://127.0.0.1/",
    ):
        assert "is none of the hosts that images may lie on" in (sight.refusal(url) or "")
    assert "set MNEMOLOG_LLM_VISION=true" in (VisionPolicy().refusal(PNG) or "")


def test_an_image_of_low_relevance_is_not_extracted_and_any_other_is_one_piece():
    image = b64encode(PNG).decode()
    assert not is_extractable(screen(image=image, relevance="low"))
    assert is_extractable(screen(image=image))
    assert piece_count(screen(image=image)) == 1
    assert not is_extractable(screen(text=""))


def test_another_image_is_another_body():
    message = replace(screen(image=b64encode(PNG).decode()), body_digest=None)
    assert digest_of(message) == digest_of(replace(message))
    assert digest_of(message) != digest_of(replace(message, image=PNG + b"x"))


def test_a_text_that_came_before_there_were_images_has_the_digest_that_it_had():
    message = replace(screen(text="x"), body_digest=None)
    assert digest_of(message).hex() == "be747fff36f1a507f3cefb8e68c331e3"


def test_the_model_is_given_the_picture_with_the_line_that_names_it():
    message = screen(image=b64encode(PNG).decode(), app="Bank", summary="a bill")
    question = messages(window_of(message, tuple(pieces_of(message, MONDAY))))[-1]["content"]
    assert question == [
        {"type": "text", "text": f"[1] 2026-01-05 08:00 Bank: a bill {SEE_PICTURE}"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(PNG).decode()}"}},
    ]
    linked = screen(image_url=URL)
    question = messages(window_of(linked, tuple(pieces_of(linked, MONDAY))))[-1]["content"]
    assert isinstance(question, list)
    assert question[1] == {"type": "image_url", "image_url": {"url": URL}}


async def test_a_picture_that_nobody_here_sees_is_rejected_with_the_reason_and_nobody_is_asked():
    message, extractor = screen(image_url=URL), EchoExtractor()
    window = window_of(message, tuple(pieces_of(message, MONDAY)))
    answer = await ExtractionService(CharacterEmbedder()).extract(window, extractor)
    assert isinstance(answer, ExtractionRejected)
    assert answer.reason.startswith("image: no model here sees images")
    assert [c.piece_id for c in answer.covered] == ["p-1#0"]
    assert extractor.asked == []
    seen = await ExtractionService(
        CharacterEmbedder(), vision=VisionPolicy(sees=True, hosts=frozenset({"img.example.org"}))
    ).extract(window, extractor)
    assert not isinstance(seen, ExtractionRejected)
    assert extractor.asked == [["p-1#0"]]
