"""What commands write to a terminal: others' words are shown, and never obeyed."""

from __future__ import annotations

import pytest

from mnemolog.cli.output import Output, harmless

HOSTILE = "tea\x1b]52;c;aGk=\x07 \x1b[2J\x9b31m\r\x08\x7f \u202ecod.exe\u2066"
WRITTEN = r"tea\x1b]52;c;aGk=\x07 \x1b[2J\x9b31m\x0d\x08\x7f \u202ecod.exe\u2066"


def test_what_a_terminal_would_obey_is_written_out(capsys: pytest.CaptureFixture[str]):
    output = Output(as_json=False)
    output.table(("memory",), [(HOSTILE,)], "nothing")
    output.text(HOSTILE)
    output.fields({"content": HOSTILE})
    output.say(HOSTILE)
    written = capsys.readouterr()
    assert written.out.count(WRITTEN) == 3
    assert written.err.count(WRITTEN) == 1
    assert not set("\x1b\x07\x9b\r\x08\x7f\u202e\u2066") & set(written.out + written.err)


@pytest.mark.parametrize("text", ["two\nlines\tand a tab", "茶 👩‍👩‍👧 é می‌خواهم"])
def test_what_it_shows_stays_as_it_is(text: str):
    assert harmless(text) == text
