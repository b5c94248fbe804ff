import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openStage } from "./stage";

test("a root of PROVIDER_ROOTS created after the worker's start is hidden from commands and logged", async () => {
  const stage = await openStage();
  await stage.define("seek");
  const root = path.join(stage.base, "providers");
  const worker = await stage.startWorker({ PROVIDER_ROOTS: root });
  if (!worker.output().includes("private-mounts")) return;
  expect(worker.output()).toMatch(/providers".*"a folder of PROVIDER_ROOTS does not exist"/);
  const secret = randomUUID();
  for (const tenant of ["acme", "globex"]) {
    mkdirSync(path.join(root, tenant), { recursive: true });
    writeFileSync(path.join(root, tenant, "file"), secret, { mode: 0o644 });
  }
  writeFileSync(path.join(stage.base, "elsewhere"), secret, { mode: 0o644 });
  const reversed = [[...secret].reverse().join("")];
  const seek = { reversed, folders: [stage.base], pipes: false };
  const { result } = await stage.settled(await stage.enqueue("seek", seek), 60_000);
  expect((result as { found: string[] }).found).toEqual([`0 in files ${path.join(stage.base, "elsewhere")}`]);
  expect(worker.output()).toMatch(/providers".*"folders newly hidden from commands/);
});
