"""`mnemolog doctor`: checks the configuration, reaches every component, and says what to do about what is wrong."""

from dataclasses import asdict

import typer

from mnemolog.cli.invocation import CommandFailed, Surroundings, local_command
from mnemolog.settings import SettingsError


def install(app: typer.Typer) -> None:
    """Add the command."""
    local_command(app, "doctor", doctor)


async def doctor(around: Surroundings) -> None:
    """Check the configuration and reach every component; exit 1 when something is wrong.

    With a URL that server is asked what it reaches: its settings count, not those here.
    """
    from mnemolog.diagnostics.checks import Check, checked  # noqa: PLC0415 - --help needs none of the engines
    from mnemolog.diagnostics.server_checks import of_server  # noqa: PLC0415 - as above

    checks = []
    if around.url:
        checks += await of_server(around.url, around.api_key, around.ca_file)
    else:
        try:
            settings = around.settings()
        except SettingsError as error:
            checks.append(Check("settings", ok=False, detail=str(error), advice="correct that, then look again"))
        else:
            checks += [Check("settings", ok=True, detail="can be used"), *await checked(settings)]
    ok = all(check.ok for check in checks)
    if around.output.as_json:
        around.output.json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        rows = [("ok" if c.ok else "WRONG", c.name, c.detail, "" if c.ok else c.advice) for c in checks]
        around.output.table(("", "what", "how it is", "what to do"), rows, "")
    if not ok:
        raise CommandFailed
