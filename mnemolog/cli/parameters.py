"""The parameters of a command: a function's annotations, read as click's arguments and options.

`Annotated[str, Option("--user", "-u", help="…")]` is an option with a string, and `Annotated[str, Argument()]` an
argument. The function's default is the parameter's; without one, the parameter is required.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TextIO, Union, get_args, get_origin

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_TYPES: Final[dict[Any, click.ParamType]] = {
    str: click.STRING,
    int: click.INT,
    float: click.FLOAT,
    bool: click.BOOL,
    Path: click.Path(path_type=Path, readable=False),  # a command itself says why it cannot read a file
    TextIO: click.File(encoding="utf-8"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What an annotation says of an argument: its help, and how the help names it if not by the parameter's name."""

    help: str = ""
    metavar: str | None = None


class Option:
    """What an annotation says of an option.

    Without names it is named for its parameter. `min` and `max` are the least and the greatest number allowed. A
    `parser` makes the value from its text, and refuses it with click.BadParameter.
    """

    def __init__(
        self,
        *names: str,
        help: str | None = None,  # noqa: A002 - as click calls it
        metavar: str | None = None,
        min: float | None = None,  # noqa: A002 - as above
        max: float | None = None,  # noqa: A002 - as above
        parser: Callable[[str], Any] | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.min = min
        self.max = max
        self.parser = parser


class _ExplainedArgument(click.Argument):
    """An argument with a help text."""

    def __init__(self, name: str, *, explanation: str, **options: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__([name], **options)
        self.explanation = explanation

    def row(self, context: click.Context) -> tuple[str, str]:
        """Return its row in the help."""
        default = self.get_default(context, call=False)
        fact = "required" if self.required else f"default: {default}" if default else ""
        return self.make_metavar(context), "  ".join(filter(None, [self.explanation, fact and f"[{fact}]"]))


class Command(click.Command):
    """A command whose help explains its arguments, too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments ahead of the options."""
        arguments = [one.row(ctx) for one in self.params if isinstance(one, _ExplainedArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        super().format_options(ctx, formatter)


class Group(click.Group):
    """Commands that the help lists in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own
        """Return their names."""
        return list(self.commands)


def command(name: str, function: Callable[..., Any], parameters: Iterable[inspect.Parameter], text: str) -> Command:
    """Return a command that calls a function with these parameters by name; `text` is its help."""

    def call(**given: Any) -> None:  # noqa: ANN401 - of the types that the parameters name
        # Click gives a tuple for what can be repeated, and an empty one for what is not given.
        function(**{one: list(value) or None if isinstance(value, tuple) else value for one, value in given.items()})

    return Command(name, callback=call, params=[_click_parameter(one) for one in parameters], help=text)


def _click_parameter(parameter: inspect.Parameter) -> click.Parameter:
    assert get_origin(parameter.annotation) is Annotated, parameter  # noqa: S101 - a mistake in our own code
    kind, mark = get_args(parameter.annotation)
    if get_origin(kind) in {Union, UnionType}:
        [kind] = set(get_args(kind)) - {NoneType}
    repeats = get_origin(kind) is list
    if repeats:
        [kind] = get_args(kind)
    required = parameter.default is inspect.Parameter.empty
    given: dict[str, Any] = {"required": required} if required else {"required": False, "default": parameter.default}
    given |= {"type": _type(kind, mark), "metavar": mark.metavar}
    if isinstance(mark, Argument):
        return _ExplainedArgument(parameter.name, explanation=mark.help, nargs=-1 if repeats else 1, **given)
    names = mark.names or (f"--{parameter.name.replace('_', '-')}",)
    return click.Option(
        [parameter.name, *names], is_flag=kind is bool, multiple=repeats, help=mark.help, show_default=True, **given
    )


def _type(kind: Any, mark: Argument | Option) -> click.ParamType:  # noqa: ANN401 - a type or a form of typing
    if isinstance(mark, Option) and mark.parser is not None:
        return click.types.FuncParamType(mark.parser)
    if isinstance(mark, Option) and (mark.min, mark.max) != (None, None):
        return (click.IntRange if kind is int else click.FloatRange)(mark.min, mark.max)
    return click.Choice(get_args(kind)) if get_origin(kind) is Literal else _TYPES[kind]
