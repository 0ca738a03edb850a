"""The routes about webhooks as calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemolog.client.call import Call, Json, command, get, given, path_of
from mnemolog.client.carrier import method

if TYPE_CHECKING:
    from collections.abc import Sequence


def add_webhook(
    url: str,
    *,
    types: Sequence[str] = (),
    user_id: str | None = None,
    agent_id: str | None = None,
    after: str | None = "now",
    secret: str | None = None,
    key: str | None = None,
) -> Call[Json]:
    """Have changes posted to an address; return the webhook, with the `secret` that signs what is posted.

    `after`: the cursor to begin behind, `now`, or None for the first change.
    """
    body = {"url": url, "types": list(types), "user_id": user_id, "agent_id": agent_id, "after": after}
    return command("POST", "/v1/webhooks", body | ({} if secret is None else {"secret": secret}), key)


def webhooks() -> Call[Json]:
    """Return the tenant's webhooks, oldest first, and how far each has come: `{items}`."""
    return get("/v1/webhooks")


def webhook(webhook_id: str) -> Call[Json]:
    """Return one webhook, and how far it has come."""
    return get(path_of("v1", "webhooks", webhook_id))


def remove_webhook(webhook_id: str, *, key: str | None = None) -> Call[Json]:
    """Have nothing posted for a webhook any more. Raises NotFound."""
    return command("DELETE", path_of("v1", "webhooks", webhook_id), None, key)


def set_webhook_secret(
    webhook_id: str, *, secret: str | None = None, both_for: int | None = None, key: str | None = None
) -> Call[Json]:
    """Have a webhook's deliveries signed with a new secret; return the webhook with its `secret`. Raises NotFound.

    The secrets before sign too for `both_for` seconds, a day where it is None: meanwhile receivers learn the new one.
    """
    return command(
        "POST", path_of("v1", "webhooks", webhook_id, "secret"), given(secret=secret, both_for=both_for), key
    )


def replay_webhook(webhook_id: str, after: str | None, *, key: str | None = None) -> Call[Json]:
    """Have what happened after a cursor (None: from the first change on) posted again. Raises NotFound."""
    return command("POST", path_of("v1", "webhooks", webhook_id, "replay"), {"after": after}, key)


class WebhookMethods:
    """The methods of these calls, of both clients."""

    add_webhook = method(add_webhook)
    webhooks = method(webhooks)
    webhook = method(webhook)
    remove_webhook = method(remove_webhook)
    set_webhook_secret = method(set_webhook_secret)
    replay_webhook = method(replay_webhook)
