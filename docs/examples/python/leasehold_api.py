"""The HTTP side of leasehold_worker: one request, its errors, and when to ask again. Standard library only."""

import http.client
import json
import logging
import random
import time
import urllib.parse

log = logging.getLogger("leasehold")

NOT_NOW = (408, 429, 500, 502, 503, 504)


class LeaseLost(Exception):
    """The lease is lost. Nothing was written, and the job's result must be dropped."""


class Refused(Exception):
    """The server said no, and would say so again."""

    def __init__(self, status, code, detail):
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code


class NotNow(Exception):
    """The server or the network could not answer; worth another try after `seconds` (None: as the caller likes)."""

    def __init__(self, why, seconds=None):
        super().__init__(why)
        self.seconds = seconds


class Api:
    """The routes under /api/v1/worker. One connection for each request, so it may be used from any thread."""

    def __init__(self, url, key):
        self.url = urllib.parse.urlsplit(url)
        self.key = key

    def connect(self, timeout):
        secure = self.url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self.url.hostname, self.url.port, timeout=timeout)

    def post(self, path, body, timeout=15, connection=None):
        """Sends one request. Raises LeaseLost, Refused or NotNow when the answer is none of success."""
        return self._send("POST", path, json.dumps(body), "application/json", connection or self.connect(timeout))

    def put(self, path, data, content_type=None, timeout=60):
        """Sends bytes. Raises as post does."""
        return self._send("PUT", path, data, content_type, self.connect(timeout))

    def _send(self, method, path, data, content_type, connection):
        headers = {"Authorization": f"Bearer {self.key}", "Connection": "close"}
        if content_type is not None:
            headers["Content-Type"] = content_type
        try:
            connection.request(method, f"/api/v1/worker/{path}", data, headers)
            response = connection.getresponse()
            text = response.read()
            status, retry_after = response.status, response.headers.get("Retry-After")
        except (OSError, http.client.HTTPException) as error:
            raise NotNow(f"no answer: {error}") from error
        finally:
            connection.close()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {}
        if status == 200:
            return answer
        code = answer.get("code", "")
        if code == "lease-lost":
            raise LeaseLost()
        if status in NOT_NOW:
            raise NotNow(f"{status} {code}", float(retry_after) if (retry_after or "").isdigit() else None)
        raise Refused(status, code, answer.get("detail", ""))

    def post_until_answered(self, path, body, give_up_after):
        """As post, but asks again, with growing pauses, while the answer is "not now"."""
        return until_answered(path, lambda: self.post(path, body), give_up_after)

    def put_until_answered(self, path, data, content_type, give_up_after):
        """As put, but asks again in the same way."""
        return until_answered(path, lambda: self.put(path, data, content_type), give_up_after)


def until_answered(path, send, give_up_after):
    """Sends until the answer is another one than "not now", with growing pauses; raises NotNow after `give_up_after` seconds."""
    until = time.monotonic() + give_up_after
    for tries in range(10_000):
        try:
            return send()
        except NotNow as error:
            pause = backoff(tries, error.seconds)
            if time.monotonic() + pause > until:
                raise
            log.warning("%s: %s; again in %.1f s", path, error, pause)
            time.sleep(pause)
    raise NotNow("gave up")


def backoff(tries, asked=None):
    """Seconds to wait before try number `tries`: growing to half a minute, with chance in it, never below what was asked."""
    return max(asked or 0, min(30, 0.5 * 2 ** min(tries, 10) * random.uniform(0.5, 1.5)))
