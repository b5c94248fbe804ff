"""A remote worker whose handler does what its payload says, and writes down what it did."""

import logging
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "docs" / "examples" / "python"))

from leasehold_worker import JobFailed, Snooze, Stopped, Worker  # noqa: E402


class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")


def no_json(kind):
    """Ends in a way that has no JSON."""
    circle = []
    circle.append(circle)
    results = {"object": object(), "bytes": b"x", "nan": float("nan"), "circle": circle, "key": {(1, 2): 3}}
    errors = {
        "snooze": Snooze(b"1"),
        "class": JobFailed("no class", error_class=b"x"),
        "delay": JobFailed("no delay", retry_after_seconds=float("inf")),
        "mute": Mute(),
        "exit": SystemExit(3),
    }
    if kind in errors:
        raise errors[kind]
    return results[kind]


def probe(job):
    what = job.payload

    def write(word):
        if "diary" in what:
            with open(what["diary"], "a", encoding="utf-8") as diary:
                diary.write(f"{os.environ['LABEL']} {job.attempt} {word}\n")

    write("begin")
    if "progress" in what:
        job.progress(what["progress"], "on the way")
        job.log(f"attempt {job.attempt} says hello")
    try:
        if "snooze" in what and not os.path.exists(what["diary"] + ".snoozed"):
            open(what["diary"] + ".snoozed", "w", encoding="utf-8").close()
            raise Snooze(what["snooze"])
        seconds = what.get("run_seconds", 0)
        while seconds > 0 and not os.path.exists(what.get("until", "/no such file")):
            job.sleep(0.1)
            seconds -= 0.1
    except Stopped as stopped:
        write(f"stopped-{stopped.reason}")
        raise
    for _ in range(what.get("flood", 0)):
        job.log("\u0001" * 16_000)
    if "mood" in what:
        job.progress(50, what["mood"])
        job.beat()
    if "fail" in what:
        raise JobFailed(what["fail"], error_class=what.get("error_class", "internal"))
    if "no_json" in what:
        return no_json(what["no_json"])
    if "big" in what:
        return {"x": what["unit"] * what["big"]}
    if "digits" in what:
        return {"id": 2**60, "half": "\ud800", "ratio": 0.1}
    write("end")
    if "artifact_bytes" in what:
        kept = job.artifact("zeros", bytes(what["artifact_bytes"]))
        return {"size": kept["size"], "sha256": kept["sha256"]}
    return {"label": os.environ["LABEL"], "attempt": job.attempt}


logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
worker = Worker(
    os.environ["LEASEHOLD_URL"],
    key=os.environ["LEASEHOLD_WORKER_KEY"],
    handlers={"probe": probe, "patient": probe},
    concurrency=int(os.environ.get("CONCURRENCY", "4")),
    label=os.environ["LABEL"],
    grace_seconds=float(os.environ.get("GRACE", "2")),
)
sys.exit(worker.run())
