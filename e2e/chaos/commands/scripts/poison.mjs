// Does the kind of harm that its payload names.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

let text = "";
for await (const chunk of process.stdin) text += chunk;
const { kind, megabytes = 64 } = JSON.parse(text);

switch (kind) {
  case "exit":
    process.exit(1);
    break;
  case "hang":
    process.on("SIGTERM", () => {});
    await sleep(600_000);
    break;
  case "die":
    process.kill(process.pid, "SIGKILL");
    break;
  case "flood": {
    const chunk = Buffer.alloc(1024 * 1024, "password=hunter2 ");
    for (let n = 0; n < megabytes; n += 1) if (!process.stdout.write(chunk)) await once(process.stdout, "drain");
    process.exitCode = 1;
    break;
  }
  case "fork":
    for (let n = 0; n < 20; n += 1) spawn("/bin/sleep", ["600"], { stdio: "ignore" }).unref();
    process.exitCode = 1;
    break;
}
