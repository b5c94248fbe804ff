import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { openDatabase, statement } from "./index";

const database = await testDatabase();
const PROBED = 2;
const JIFFIES_A_SECOND = 100;

/** Returns the kernel's timer for the connection from this port: its kind, and the seconds until it fires. */
function timerOf(port: number): readonly [kind: number, seconds: number] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const line = ["tcp", "tcp6"]
    .flatMap((table) => readFileSync(`/proc/net/${table}`, "utf8").split("\n"))
    .find((entry) => entry.trim().split(/\s+/)[1]?.endsWith(local));
  const [kind = "", inJiffies = ""] = line?.trim().split(/\s+/)[5]?.split(":") ?? [];
  return [Number.parseInt(kind, 16), Number.parseInt(inJiffies, 16) / JIFFIES_A_SECOND];
}

test.runIf(process.platform === "linux")("an idle connection is probed before a firewall drops it", async () => {
  const db = openDatabase({
    prepare: true,
    url: database.urlFor("worker"),
    role: "worker",
    max: 1,
    keep: 1,
    applicationName: "kept",
  });
  onTestFinished(() => db.close());
  const [row] = await db.run<{ port: number }>(statement("client_port", "select inet_client_port() as port"));
  await expect.poll(() => timerOf(row?.port ?? 0)[0]).toBe(PROBED);
  expect(timerOf(row?.port ?? 0)[1]).toBeLessThanOrEqual(60);
});
