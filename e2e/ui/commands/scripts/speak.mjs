import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

let text = "";
for await (const chunk of process.stdin) text += chunk;
const { lines = [], every_ms = 0, then_count_to = 0, exit = 0 } = JSON.parse(text);

for (const line of lines) writeSync(1, `${line}\n`);
for (let count = 1; count <= then_count_to; count += 1) {
  writeSync(1, `count ${count}\n`);
  await sleep(every_ms);
}
if (exit !== 0) writeSync(2, "ending badly\n");
process.exit(exit);
