"""The example of docs/remote-workers.md: runs the demo's definition `summarize-text`.

    LEASEHOLD_URL=http://127.0.0.1:3000 LEASEHOLD_WORKER_KEY=lhk_live_... python3 summarize_text.py
"""

import logging
import os
import sys

from leasehold_worker import JobFailed, Worker


def summarize(job):
    text = job.payload["text"]
    if not text.strip():
        raise JobFailed("The text is empty.", error_class="invalid_input")
    job.log(f"{len(text)} characters to go through")
    longest = ""
    lines = text.splitlines()
    words = 0
    for number, line in enumerate(lines, start=1):
        job.check()
        words += len(line.split())
        longest = max([longest, *line.split()], key=len)
        job.progress(100 * number / len(lines))
    return {"lines": len(lines), "words": words, "characters": len(text), "longest_word": longest}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    worker = Worker(
        os.environ.get("LEASEHOLD_URL", "http://127.0.0.1:3000"),
        key=os.environ["LEASEHOLD_WORKER_KEY"],
        handlers={"summarize-text": summarize},
    )
    sys.exit(worker.run())
