// Uses up the machine as its payload says, until a file appears.
import { spawn } from "node:child_process";
import { existsSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const PART_BYTES = 1024 * 1024;
let payload = "";
for await (const chunk of process.stdin) payload += chunk;
const { kind, text = "", bytes = 0, ready, until, fd = 1, head = "", tail = "", times, many } = JSON.parse(payload);
const isOver = () => existsSync(until);

/** Each shell forks endlessly, and ends when it gets no further process. */
const BOMB = "bomb() { while :; do bomb & done; }; bomb";

async function fork() {
  while (!isOver()) {
    const bomb = spawn("/bin/sh", ["-c", BOMB], { stdio: "ignore" });
    await new Promise((resolve) => bomb.once("exit", resolve).once("error", resolve));
    writeFileSync(ready, "");
    await sleep(1);
  }
}

async function fill() {
  const part = Buffer.alloc(PART_BYTES);
  while (!isOver()) {
    for (const folder of ["/tmp", "/var/tmp", "/dev/shm"]) {
      try {
        for (;;) writeFileSync(`${folder}/full`, part, { flag: "a" });
      } catch {
        // The limit is reached.
      }
    }
    writeFileSync(ready, "");
    await sleep(20);
    for (const folder of ["/tmp", "/var/tmp", "/dev/shm"]) rmSync(`${folder}/full`, { force: true });
  }
}

/**
 * Prints `head`, the text `times` times with a growing number for each `#`, and `tail`; endlessly, in rounds of
 * `bytes`.
 */
function print() {
  const count = times ?? Math.ceil(PART_BYTES / text.length);
  const bits = Array.from({ length: count }, (_, n) => text.replaceAll("#", n));
  const part = Buffer.from(head + bits.join("") + tail);
  do {
    for (let sent = 0; sent < bytes; sent += part.length)
      for (let at = 0; at < part.length; at += writeSync(fd, part, at));
    if (ready) writeFileSync(ready, "");
  } while (!isOver());
}

/** Processes that only compute, each in its own session. */
async function spin() {
  const spinners = Array.from({ length: many }, () =>
    spawn("/bin/sh", ["-c", "while :; do :; done"], { stdio: "ignore", detached: true }),
  );
  for (const spinner of spinners) spinner.on("error", () => undefined);
  writeFileSync(ready, "");
  while (!isOver()) await sleep(100);
  process.exit();
}

await { fork, fill, print, spin }[kind]();
