"""Bodies and answers about webhooks."""

from typing import Annotated

from pydantic import AfterValidator, Field

from mnemolog.changes.feed import TYPES
from mnemolog.extensions.webhooks.signature import read_secret
from mnemolog.http.changes.models import MAX_CURSOR_CHARACTERS, ChangeType
from mnemolog.http.models.body import Body
from mnemolog.http.models.requests import Id, UserOrNone
from mnemolog.http.models.responses import Shape
from mnemolog.receivers import MAX_URL_CHARACTERS

MAX_SECRET_CHARACTERS = 128
DEFAULT_BOTH_SECONDS = 24 * 60 * 60
MAX_BOTH_SECONDS = 30 * DEFAULT_BOTH_SECONDS


def _is_secret(text: str) -> str:
    read_secret(text)
    return text


Cursor = Annotated[str, Field(max_length=MAX_CURSOR_CHARACTERS)]
Url = Annotated[str, Field(min_length=1, max_length=MAX_URL_CHARACTERS)]
Secret = Annotated[str, Field(max_length=MAX_SECRET_CHARACTERS), AfterValidator(_is_secret)]


class NewWebhook(Body):
    """Where to post which changes, and from where on: from now on, unless `after` says otherwise."""

    url: Url
    types: Annotated[list[ChangeType], Field(max_length=len(TYPES))] | None = None
    user_id: UserOrNone | None = None
    agent_id: Id | None = None
    after: Annotated[Cursor, Field(description="`next` of the feed, `now`, or null for the first change")] | None = (
        "now"
    )
    secret: Annotated[Secret, Field(description="`whsec_…`; left out, one is made")] | None = None


class NewSecret(Body):
    """The secret to sign with from now on, and for how long those before it sign too."""

    secret: Annotated[Secret, Field(description="`whsec_…`; left out, one is made")] | None = None
    both_for: Annotated[
        int, Field(ge=0, le=MAX_BOTH_SECONDS, description="seconds in which former secrets sign as well; 0: none")
    ] = DEFAULT_BOTH_SECONDS


class Replay(Body):
    """From where on to post again: null is the first change."""

    after: Cursor | None


class Webhook(Shape):
    """A webhook, and how far it has come: all before `reached` is delivered or given up."""

    webhook_id: str
    url: str
    types: Annotated[list[ChangeType], Field(max_length=len(TYPES))] | None = None
    user_id: str | None
    agent_id: str | None
    created_at: str
    by: str | None
    reached: str
    deliveries: int
    delivered_at: str | None
    given_up: int
    attempts: int
    failing_since: str | None
    failure: str | None


class RegisteredWebhook(Webhook):
    """A webhook, with the new secret that its deliveries are signed with: it is shown here only."""

    secret: str


class Webhooks(Shape):
    """The webhooks of a tenant, oldest first."""

    items: list[Webhook]


class Removed(Shape):
    """That a webhook is no more."""

    webhook_id: str
    removed: bool
