// Prints the number of its attempt and nothing else, then runs for a while and ends as its payload says.
import { existsSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

let text = "";
for await (const chunk of process.stdin) text += chunk;
const {
  run_ms = 0,
  until,
  from_attempt = Number.POSITIVE_INFINITY,
  then_ms = 0,
  exit = 0,
  progress,
} = JSON.parse(text);
const attempt = Number(process.env.ATTEMPT);
writeSync(1, `${attempt}\n`);
if (progress) writeSync(3, `${JSON.stringify({ type: "progress", percent: 50, message: `attempt ${attempt}` })}\n`);
const endAt = Date.now() + (attempt >= from_attempt ? then_ms : run_ms);
while (Date.now() < endAt && !(until && existsSync(until))) await sleep(20);
process.exit(exit);
