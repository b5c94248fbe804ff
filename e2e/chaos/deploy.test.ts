import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { updateDefinition } from "@/lib/queue/testing";
import type { TestProcess } from "@/lib/testing/processes";
import { openArena } from "./arena";
import { pick } from "./profile";
import { suite } from "./suite";

const DEPLOYS = pick({ short: 2, long: 10 });
const JOBS = pick({ short: 40, long: 600 });
const WORKERS = 2;

suite("rolling deploys: no job loses an attempt to a worker that does not know its definition", async (build) => {
  const arena = await openArena();
  const versions = commandFiles(arena.base, arena.env.COMMANDS_FILE);
  const fresh = await arena.define("fresh", { command_key: "fresh", lease_seconds: 5, max_attempts: 5 });
  await arena.startScheduler();
  const start = (version: "old" | "new") => arena.startWorker({ ...build, COMMANDS_FILE: versions[version] });
  let running = await Promise.all(Array.from({ length: WORKERS }, () => start("old")));
  // While only old workers run, no worker claims jobs of the definition they do not know.
  await arena.enqueueAll(JOBS, () => ({ definitionKey: arena.random() < 0.3 ? "fresh" : "speak" }));
  await arena.pause(2000, 2000);
  const taken = "select job_id from app.job_attempts join app.jobs j on j.id = job_id where j.definition_id = $1";
  expect(await arena.database.query(taken, [fresh.id])).toEqual([]);
  for (let deploy = 0; deploy < DEPLOYS; deploy += 1) {
    const version = deploy % 2 === 0 ? "new" : "old";
    const next: TestProcess[] = [];
    for (const worker of running) {
      next.push(await start(version));
      await arena.enqueueAll(JOBS / 2, () => ({ definitionKey: arena.random() < 0.3 ? "fresh" : "speak" }));
      expect((await worker.stop()).code).toBe(0);
    }
    running = next;
    // The definition changes as well. Waiting jobs keep the version they were accepted with.
    const patch = { timeout_seconds: 30 + deploy };
    await updateDefinition(arena.factory.platform, arena.scope.actor, { id: fresh.id, patch });
  }
  await start("new");
  const verify = async () => {
    // A worker on a busy machine may lose a lease too. That is not the failure this test looks for.
    const unhappy =
      "select job_id, status, error_text from app.job_attempts where status not in ('succeeded', 'released', 'worker_lost')";
    expect(await arena.database.query(unhappy)).toEqual([]);
  };
  return { arena, told: `${DEPLOYS} deploys`, verify };
});

/** Writes two versions of the commands file. The new one has one more command. */
function commandFiles(base: string, file: string): { readonly old: string; readonly new: string } {
  const commands = JSON.parse(readFileSync(file, "utf8"));
  const folder = path.join(base, "versions");
  mkdirSync(folder);
  cpSync(path.join(path.dirname(file), "scripts"), path.join(folder, "scripts"), { recursive: true });
  const write = (name: string, content: unknown) => {
    const target = path.join(folder, name);
    writeFileSync(target, JSON.stringify(content));
    return target;
  };
  return { old: write("old.json", commands), new: write("new.json", { ...commands, fresh: commands.speak }) };
}
