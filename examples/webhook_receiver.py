"""A receiver of webhooks: it checks the signature, and prints the changes. It needs the standard library only.

python webhook_receiver.py SECRET [PORT]
"""

from __future__ import annotations

import hmac
import json
import sys
import time
from base64 import b64decode, b64encode
from http.server import BaseHTTPRequestHandler, HTTPServer

_, secret, *port = sys.argv
SECRET = b64decode(secret.removeprefix("whsec_"))
PORT = int(port[0]) if port else 9000
OLD_SECONDS = 300
seen: set[str] = set()
"""The ids of handled events. A real receiver stores them together with the results of handling them."""


class Receiver(BaseHTTPRequestHandler):
    """Answers 204 to requests that are signed with the secret, and 401 to all others."""

    def do_POST(self) -> None:
        """Handle a delivery."""
        body = self.rfile.read(int(self.headers["content-length"]))
        if not self.is_genuine(body):
            self.answer(401)
            return
        for change in json.loads(body)["items"]:
            if change["event_id"] not in seen:  # a delivery may come twice
                seen.add(change["event_id"])
                memory = change["memory"]
                print(change["type"], change["user_id"], memory["content"] if memory else "-", flush=True)
        self.answer(204)  # only now: a delivery without this answer comes again

    def is_genuine(self, body: bytes) -> bool:
        """Return whether this body was signed with the secret, and recently."""
        message_id, sent_at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        if not message_id or not sent_at or abs(time.time() - int(sent_at)) > OLD_SECONDS:
            return False
        signed = f"{message_id}.{sent_at}.".encode() + body
        expected = "v1," + b64encode(hmac.digest(SECRET, signed, "sha256")).decode()
        signatures = self.headers["webhook-signature"].split()
        return any(hmac.compare_digest(expected, each) for each in signatures)

    def answer(self, status: int) -> None:
        """Send a status and no body."""
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing but changes."""


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()
