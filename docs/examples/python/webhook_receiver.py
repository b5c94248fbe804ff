"""Receives webhooks, checks their signatures and prints them. Needs the standard library alone:

    WEBHOOK_SECRET=whsec_… python3 docs/examples/python/webhook_receiver.py 8080
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300
MOST_BYTES = 1024 * 1024
SECRET = os.environ.get("WEBHOOK_SECRET", "")
SEEN = set()


def is_genuine(secret, headers, body):
    """Whether one of the signatures is that of this secret, and the message was sent just now."""
    message_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (sent_at.isascii() and sent_at.isdigit()) or abs(time.time() - int(sent_at)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{sent_at}.".encode() + body
    wanted = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    return any(
        hmac.compare_digest(one.encode(), wanted) for one in headers.get("webhook-signature", "").split(" ")
    )


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return self.answer(411)
        if int(length) > MOST_BYTES:
            return self.answer(413)
        body = self.rfile.read(int(length))
        message_id = self.headers.get("webhook-id")
        if not is_genuine(SECRET, self.headers, body):
            print(json.dumps({"refused": message_id}), flush=True)
            return self.answer(401, b"the signature does not fit")
        repeated = message_id in SEEN
        SEEN.add(message_id)
        print(json.dumps({"id": message_id, "repeated": repeated, **json.loads(body)}), flush=True)
        return self.answer(204)

    def answer(self, status, text=b""):
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        """What is worth a line was printed."""


if __name__ == "__main__":
    if not SECRET.startswith("whsec_"):
        sys.exit("Set WEBHOOK_SECRET to the secret of your endpoint.")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(json.dumps({"listening": f"http://127.0.0.1:{server.server_port}/"}), flush=True)
    server.serve_forever()
