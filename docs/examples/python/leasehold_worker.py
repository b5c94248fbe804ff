"""A remote worker for Leasehold in Python: standard library only, Python 3.9 or newer.

    from leasehold_worker import Worker

    def resize(job):
        job.progress(50, "half way")
        return {"width": job.payload["width"]}

    Worker("http://127.0.0.1:3000", key="lhk_live_...", handlers={"resize-image": resize}).run()

A handler gets a Job and returns the result. It is called in a thread, and may be called again for the same job: hand
`job.idempotency_key` to whatever must not happen twice. Threads cannot be stopped from outside, so a handler that takes
long calls `job.check()` or `job.sleep(...)` now and then: they raise Stopped when the job is canceled, its time is
up, its lease was lost, or the worker has to leave.
"""

import hashlib
import io
import itertools
import json
import logging
import os
import signal
import socket
import threading
import time
import urllib.parse
import uuid

from leasehold_api import Api, LeaseLost, NotNow, Refused, backoff

log = logging.getLogger("leasehold")

VERSION = "1"
WAIT_SECONDS = 20
BEAT_SECONDS_MAX = 10
RESULT_BYTES_MAX = 256 * 1024
PREVIEW_CHARS = 2000
LINES_BYTES_MAX = 512 * 1024
# The server takes parts of at most 1 MiB.
PART_BYTES = 512 * 1024


def encoded(value):
    """The value's JSON. Raises for what is no JSON, such as NaN, bytes or a circle."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def storable(result):
    """The result, or a preview when its JSON has more than the server keeps. What is no JSON is the handler's failure."""
    text = encoded(result)
    size = len(text.encode("utf-8", "replace"))
    return result if size <= RESULT_BYTES_MAX else {"truncated": True, "bytes": size, "preview": text[:PREVIEW_CHARS]}


def reason_of(error):
    """What an exception says, also when its own text cannot be made."""
    try:
        return cut(f"{type(error).__name__}: {error}", 8000)
    except Exception:
        return type(error).__name__


def cut(text, units):
    """At most so many UTF-16 units of a text, as the server counts them; never half a character."""
    return str(text).encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore")


class Stopped(Exception):
    """Raised inside a handler that is to stop; `reason` is cancel, timeout, lease-lost or shutdown."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class JobFailed(Exception):
    """Raise it in a handler to say what kind of failure it was; the classes are in docs/retries.md."""

    def __init__(self, message, error_class="unknown", retryable=None, retry_after_seconds=None):
        super().__init__(message)
        extra = {"error_class": error_class, "retryable": retryable, "retry_after_seconds": retry_after_seconds}
        self.fields = {name: value for name, value in extra.items() if value is not None}


class Snooze(Exception):
    """Raise it in a handler to put the job off for a while without spending an attempt."""

    def __init__(self, seconds):
        super().__init__(seconds)
        self.seconds = seconds


class Job:
    """One claimed job, as its handler sees it."""

    def __init__(self, api, fields):
        self.api = api
        self.fields = fields
        self.id = fields["job_id"]
        self.payload = fields["payload"]
        self.tenant_id = fields["tenant_id"]
        self.attempt = fields["attempt"]
        self.idempotency_key = fields["idempotency_key"]
        self.lease_seconds = fields["lease_seconds"]
        self.deadline = time.monotonic() + fields["timeout_seconds"]
        self.stop_reason = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._beating = threading.Lock()
        self._progress = None
        self._lines = []
        self._seq = 0

    def progress(self, percent, message=None):
        """Shows how far the job is; sent with the next heartbeat."""
        with self._lock:
            self._progress = {"percent": max(0.0, min(100.0, float(percent))), "message": None if message is None else cut(message, 500)}

    def log(self, message, level="info"):
        """Writes a line to the attempt's log; sent with the next heartbeat."""
        with self._lock:
            self._lines.append({"seq": self._seq, "level": str(level), "message": cut(message, 16_000)})
            self._seq += 1

    def artifact(self, name, content, content_type=None):
        """Keeps a file of the job. `content` is bytes, text, or a file that was opened for reading bytes.

        Memory stays at one part, whatever the size. Raises Refused over a quota, LeaseLost when the lease is lost.
        Answers id, size and sha256.
        """
        if isinstance(content, str):
            content = content.encode()
        source = io.BytesIO(content) if isinstance(content, (bytes, bytearray, memoryview)) else content
        sha256 = hashlib.sha256()
        data = source.read(PART_BYTES)
        for part in itertools.count():
            self.check()
            sha256.update(data)
            following = source.read(PART_BYTES) if data else b""
            about = {"lease_no": self.fields["lease_no"], "name": name, "part": part}
            about.update({"last": "false"} if following else {"sha256": sha256.hexdigest()})
            path = f"jobs/{self.id}/artifacts?{urllib.parse.urlencode(about)}"
            answer = self.api.put_until_answered(path, data, content_type, give_up_after=60)
            if not following:
                return answer["artifact"]
            data = following

    def stop(self, reason):
        if self.stop_reason is None or reason == "lease-lost":
            self.stop_reason = reason
        self._stop.set()

    def check(self):
        """Raises Stopped when the job is to stop."""
        if self._stop.is_set():
            raise Stopped(self.stop_reason)

    def sleep(self, seconds):
        """Sleeps, but raises Stopped as soon as the job is to stop."""
        self._stop.wait(seconds)
        self.check()

    def beat(self):
        """Renews the lease, with what there is to tell. Lines that were not answered for are sent again, refused ones not."""
        with self._beating:
            with self._lock:
                lines, progress = self._first_lines(), self._progress
            body = {"lease_no": self.fields["lease_no"], "lease_seconds": max(5, self.lease_seconds)}
            news = {"logs": lines, **({"progress": progress} if progress else {})}
            try:
                answer = self.api.post(f"jobs/{self.id}/heartbeat", {**body, **news})
            except Refused as error:
                if error.status in (401, 403):
                    raise
                log.warning("job %s: lines of its log or its progress are refused: %s", self.id, error)
                answer = self.api.post(f"jobs/{self.id}/heartbeat", body)
            with self._lock:
                del self._lines[: len(lines)]
                if self._progress is progress:
                    self._progress = None
            if answer["cancel_requested"]:
                self.stop("cancel")

    def begin(self):
        """Says that the attempt begins. An attempt that the server has not heard of when its lease ends does not count."""
        lease = {"lease_no": self.fields["lease_no"], "lease_seconds": max(5, self.lease_seconds)}
        answer = self.api.post_until_answered(f"jobs/{self.id}/heartbeat", lease, give_up_after=self.lease_seconds)
        if answer["cancel_requested"]:
            self.stop("cancel")

    def _first_lines(self):
        """The lines that fit into one request."""
        size, count = 0, 0
        while count < min(100, len(self._lines)) and size <= LINES_BYTES_MAX:
            size += len(json.dumps(self._lines[count]))
            count += 1
        return self._lines[:count]

    def keep(self, done):
        """Renews the lease until the job is done."""
        next_beat = time.monotonic() + self._beat_seconds()
        while not done.wait(0.2):
            if time.monotonic() >= self.deadline:
                self.stop("timeout")
            if time.monotonic() < next_beat and not self._lines and not self._progress:
                continue
            try:
                self.beat()
                next_beat = time.monotonic() + self._beat_seconds()
                done.wait(0.5)
            except LeaseLost:
                return self.stop("lease-lost")
            except Refused as error:
                log.error("job %s: the server refuses this worker: %s", self.id, error)
                return self.stop("lease-lost")
            except NotNow as error:
                log.warning("job %s: no heartbeat: %s", self.id, error)
                done.wait(backoff(0, error.seconds))

    def _beat_seconds(self):
        return min(BEAT_SECONDS_MAX, self.lease_seconds / 3)

    def end(self, verb, fields):
        """Says how the attempt ended, until the server answers: saying it twice does no harm."""
        try:
            while self._lines or self._progress:
                self.beat()
        except (NotNow, Refused) as error:
            log.warning("job %s: the last lines of its log are lost: %s", self.id, error)
        lease = {"lease_no": self.fields["lease_no"]}
        try:
            return self.api.post_until_answered(f"jobs/{self.id}/{verb}", {**lease, **fields}, give_up_after=600)
        except Refused as error:
            if error.status in (401, 403):
                raise
            # The server would refuse the same again, so the attempt ends with the reason, in a form that it takes.
            reason = cut(f"The server refused how the attempt ended ({verb}): {error}; it was {fields}", 2000)
            failed = {"outcome": "failed", "error_class": "internal", "retryable": False, "message": reason}
            log.error("job %s: %s", self.id, reason)
            return self.api.post_until_answered(f"jobs/{self.id}/fail", {**lease, **failed}, give_up_after=600)


class Worker:
    """Claims jobs, runs their handlers in threads, and leaves in good order on SIGTERM and SIGINT."""

    def __init__(self, url, key, handlers, concurrency=4, queues=None, label=None, grace_seconds=25):
        self.api = Api(url, key)
        self.handlers = handlers
        self.concurrency = concurrency
        self.queues = queues
        self.grace_seconds = grace_seconds
        host = socket.gethostname()
        name = "".join(c if c.isalnum() or c in "._-" else "-" for c in f"{host}-{os.getpid()}")[:80].lstrip("._-")
        # New with each start, so that a restarted worker counts as another one.
        self.about = {"name": f"{name or 'worker'}-{uuid.uuid4().hex[:8]}", "hostname": host[:200], "pid": os.getpid()}
        self.about.update({"version": f"python-{VERSION}", "label": label or host[:100], "capacity": concurrency})
        self.running = {}
        self.changed = threading.Condition()
        self.leaving = threading.Event()
        self.polling = None
        self.refused = None

    def run(self):
        """Works until SIGTERM, SIGINT or stop(). Returns 0, or 1 when the server refused the key."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())
        claimer = threading.Thread(target=self._claim_for_ever, daemon=True)
        claimer.start()
        while not self.leaving.wait(0.2):
            pass
        self._drain(claimer)
        if self.refused:
            log.error("the server refuses this worker: %s", self.refused)
        return 1 if self.refused else 0

    def stop(self):
        """Takes nothing new from now on."""
        self.leaving.set()

    def _drain(self, claimer):
        log.info("leaving: %d jobs are running", len(self.running))
        self._tell("draining")
        until = time.monotonic() + 5
        while claimer.is_alive() and time.monotonic() < until:
            self._hang_up()
            claimer.join(0.1)
        self._wait_for_jobs(self.grace_seconds)
        for job in list(self.running.values()):
            job.stop("shutdown")
        self._wait_for_jobs(5)
        self._tell("stopped")

    def _hang_up(self):
        """Ends the claim that waits. What the server was about to answer goes back to the queue."""
        connection = self.polling
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _wait_for_jobs(self, seconds):
        with self.changed:
            self.changed.wait_for(lambda: not self.running, timeout=seconds)

    def _tell(self, state):
        try:
            self.api.post("state", {"worker": {"name": self.about["name"]}, "state": state}, timeout=3)
        except (NotNow, Refused):
            pass

    def _claim_for_ever(self):
        tries = 0
        while not self.leaving.is_set():
            with self.changed:
                self.changed.wait_for(lambda: len(self.running) < self.concurrency or self.leaving.is_set(), timeout=1)
                free = self.concurrency - len(self.running)
            if free <= 0 or self.leaving.is_set():
                continue
            try:
                answer = self._claim(free)
                tries = 0
            except NotNow as error:
                pause = backoff(tries, error.seconds)
                tries += 1
                if not self.leaving.is_set():
                    log.warning("claim: %s; again in %.1f s", error, pause)
                self.leaving.wait(pause)
                continue
            except Refused as error:
                self.refused = error
                self.leaving.set()
                return
            for lease in answer["cancel_requested"]:
                job = self.running.get((lease["job_id"], lease["lease_no"]))
                if job:
                    job.stop("cancel")
            for fields in answer["jobs"]:
                self._begin(Job(self.api, fields))

    def _claim(self, free):
        body = {"worker": self.about, "definitions": sorted(self.handlers), "limit": min(50, free)}
        body["wait_seconds"] = WAIT_SECONDS
        if self.queues:
            body["queues"] = self.queues
        self.polling = self.api.connect(WAIT_SECONDS + 15)
        try:
            return self.api.post("jobs/claim", body, connection=self.polling)
        finally:
            self.polling = None

    def _begin(self, job):
        lease = (job.id, job.fields["lease_no"])
        with self.changed:
            self.running[lease] = job
        if self.leaving.is_set():
            job.stop("shutdown")
        threading.Thread(target=self._run, args=(job, lease), daemon=True).start()

    def _run(self, job, lease):
        done = threading.Event()
        keeper = threading.Thread(target=job.keep, args=(done,), daemon=True)
        try:
            job.begin()
            keeper.start()
            verb, fields = self._attempt(job)
            done.set()
            keeper.join()
            if job.stop_reason == "lease-lost":
                raise LeaseLost()
            answer = job.end(verb, fields)
            log.info("job %s ended: %s", job.id, answer["status"])
        except LeaseLost:
            log.warning("job %s: the lease is lost; its result is dropped", job.id)
        except (NotNow, Refused) as error:
            log.error("job %s: its end could not be reported: %s", job.id, error)
        finally:
            done.set()
            with self.changed:
                del self.running[lease]
                self.changed.notify_all()

    def _attempt(self, job):
        """Runs the handler; answers the verb and the fields that tell how it ended. Whatever a handler does ends its job only."""
        log.info("job %s: attempt %d of %s", job.id, job.attempt, job.fields["definition_key"])
        try:
            verb, fields = self._outcome(job)
            # A copy, because the handler may have kept its result and change it.
            return verb, json.loads(encoded(fields))
        except BaseException as error:  # also sys.exit() of a handler, which would end its thread silently
            log.exception("job %s failed", job.id)
            return "fail", {"message": reason_of(error)}

    def _outcome(self, job):
        """The verb and the fields of an attempt as its handler gave them; raises what the handler raises."""
        try:
            job.check()
            return "complete", {"result": storable(self.handlers[job.fields["definition_key"]](job))}
        except Stopped as stopped:
            outcomes = {"cancel": "canceled", "timeout": "timeout"}
            return "fail", {"outcome": outcomes.get(stopped.reason, "released")}
        except Snooze as snooze:
            return "fail", {"outcome": "snoozed", "snooze_seconds": snooze.seconds}
        except JobFailed as failed:
            return "fail", {"message": cut(failed, 8000), **failed.fields}
