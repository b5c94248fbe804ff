import { setTimeout as delay } from "node:timers/promises";
import type { Child } from "./child";
import { query } from "./server";
import type { System } from "./systems";

/** The kind of job: a handler, a handler with leases of five seconds, or a command. */
export type Kind = "handler" | "brief handler" | "command";

export interface HeldJobs {
  readonly ids: readonly string[];
  /** When each job was asked to stop, by the clock that all processes share. Resolves when all jobs were asked. */
  stopped(): Promise<number[]>;
}

const WITHIN_MS = 60_000;
const DEFINITION = { handler: "hold", "brief handler": "hold-briefly", command: "hold-command" } as const;

interface Held {
  readonly workers: readonly Child[];
  readonly kind: Kind;
  readonly count: number;
}

/** Jobs of `leasehold` that run until they are stopped. Resolves when all of them run. */
export async function hold(system: System, { workers, kind, count }: Held): Promise<HeldJobs> {
  const heard = { held: new Map<number, number>(), stopped: new Map<number, number>() };
  for (const worker of workers) {
    for (const type of ["held", "stopped"] as const)
      worker.on(type, ({ tag, at }) => heard[type].set(tag as number, at as number));
  }
  const tags = Array.from({ length: count }, (_, tag) => tag);
  const ids = await system.client.call<string[]>("hold", { definition: DEFINITION[kind], tags });
  if (kind !== "command") {
    await until(() => heard.held.size === count, "the start of every handler");
    return {
      ids,
      stopped: async () => {
        await until(() => heard.stopped.size === count, "the end of every handler");
        return tags.map((tag) => heard.stopped.get(tag) ?? Number.NaN);
      },
    };
  }
  const up = "select job_id from app.job_logs where job_id = any ($1::uuid[]) and body like 'up %'";
  await until(async () => (await query(system.adminUrl, up, [ids])).length === count, "the start of every command");
  return {
    ids,
    stopped: async () => {
      let rows: { job_id: string; text: string }[] = [];
      await until(async () => {
        rows = await query(
          system.adminUrl,
          "select job_id, stdout_tail as text from app.job_attempts where job_id = any ($1::uuid[]) and outcome is not null",
          [ids],
        );
        return rows.length === count;
      }, "the end of every command");
      const texts = new Map(rows.map(({ job_id, text }) => [job_id, text]));
      return ids.map((id) => Number(/^term ([\d.]+)$/m.exec(texts.get(id) ?? "")?.[1]));
    },
  };
}

export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come in time`);
    await delay(20);
  }
}
