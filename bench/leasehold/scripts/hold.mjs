// Runs until it gets SIGTERM, and prints when: milliseconds of the clock that all processes of a machine share.
import { writeSync } from "node:fs";

process.on("SIGTERM", () => {
  const at = Number(process.hrtime.bigint()) / 1e6;
  writeSync(1, `term ${at}\n`);
  process.exit(143);
});
writeSync(1, `up ${process.argv[2]}\n`);
setInterval(() => {}, 60_000);
