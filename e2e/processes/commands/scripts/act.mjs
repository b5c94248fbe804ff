// Runs for a while, prints and writes a diary, and ends as its payload says.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const TICK_MS = 50;
const { ATTEMPT = "0" } = process.env;
let text = "";
for await (const chunk of process.stdin) text += chunk;
const { diary, run_ms = 0, until, on_term = "exit", exit = 0, child = false, ...rest } = JSON.parse(text);
const { from_attempt, then_ms = 0, say, result } = rest;

/** @param {string} what */
const note = (what) => {
  if (diary) appendFileSync(diary, `${ATTEMPT} ${what} ${Date.now()}\n`);
};

/** @type {import("node:child_process").ChildProcess | undefined} */
let childProcess;
process.on("SIGTERM", () => {
  note("term");
  if (on_term !== "exit") return;
  // What a command leaves behind is killed at once, so it waits for its child, which gets the signal, too.
  if (!childProcess || childProcess.exitCode !== null) process.exit(143);
  childProcess.once("exit", () => process.exit(143));
});
if (child) {
  const tell = (/** @type {string} */ what) => `echo "${ATTEMPT} ${what} 0" >> "${diary}"`;
  const loop = `trap '${tell("child-term")}; exit' TERM; ${tell("child-start")}; while :; do sleep 0.05; done`;
  childProcess = spawn("/bin/sh", ["-c", loop], { stdio: "ignore" });
}
note("start");
writeSync(1, `attempt ${ATTEMPT}\n`);
if (say) for (const stream of [1, 2]) writeSync(stream, `${say}\n`);
const endAt = Date.now() + (from_attempt !== undefined && Number(ATTEMPT) >= from_attempt ? then_ms : run_ms);
while (Date.now() < endAt && !(until && existsSync(until))) {
  await sleep(Math.min(TICK_MS, Math.max(1, endAt - Date.now())));
  note("tick");
  writeSync(1, `attempt ${ATTEMPT} goes on\n`);
}
if (result !== undefined) writeSync(3, `${JSON.stringify({ type: "result", value: result })}\n`);
note("end");
if (exit !== 0) writeSync(2, "ending badly\n");
process.exit(exit);
