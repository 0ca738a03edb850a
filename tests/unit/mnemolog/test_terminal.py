"""Tables keep their frame whatever characters they hold, and bars are shown on terminals alone."""

from __future__ import annotations

import io

from mnemolog.terminal import Progress, columns, table


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_every_line_of_a_table_has_the_same_width():
    rows = [
        ("u1", "我对花生过敏，所以点单都得备注一大堆"),
        ("u2", "Zu\u0308rich, and a pneumonoultramicroscopicsilico"),
    ]
    for most in (200, 40, 20):
        lines = table(("user", "memory"), rows, most).splitlines()
        assert len({columns(line) for line in lines}) == 1
        assert columns(lines[0]) <= most
        assert len(lines) > 6 or most == 200


def test_a_wrapped_cell_loses_nothing_and_breaks_between_words_where_it_can():
    text = "likes tea in the morning\nand 茶茶茶茶茶茶茶茶茶 at night"
    lines = table(("memory",), [(text,)], 16).splitlines()[3:-1]
    cells = [line.strip("│").strip() for line in lines]
    assert cells == ["likes tea in", "the morning", "and", "茶茶茶茶茶茶", "茶茶茶 at", "night"]


def test_a_bar_is_drawn_on_a_terminal_and_taken_away():
    stream = Terminal()
    with Progress("records", stream=stream) as bar:
        task = bar.add_task("verifying", total=4)
        bar.advance(task, 2)
        bar.update(task, completed=4)
    assert "verifying" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[1F\x1b[J")


def test_elsewhere_nothing_is_written_but_what_stays():
    silent, kept = io.StringIO(), io.StringIO()
    for stream, stays in ((silent, False), (kept, True)):
        with Progress("memories", stream=stream, stays=stays) as bar:
            bar.update(bar.add_task("reembedding"), completed=2, total=4)
            bar.advance(bar.add_task("counted"), 3)
    assert silent.getvalue() == ""
    assert [line.split() for line in kept.getvalue().splitlines()] == [
        ["reembedding", "━" * 20 + "╌" * 20, "2/4", "memories", "0:00:00"],
        ["counted", "3", "memories", "0:00:00"],
    ]
