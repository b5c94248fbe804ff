import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect } from "vitest";
import { type EmbeddedServer, startEmbedded } from "@/lib/db/embedded/index.mjs";
import { createTestDatabase, type TestDatabase } from "@/lib/testing/database";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { makeTemplate } from "../processes/own-server";
import { makeFolder } from "../processes/stage";
import { openArena } from "./arena";
import { pick } from "./profile";
import { suite } from "./suite";

const RESTARTS = pick({ short: 2, long: 15 });
const CALLERS = pick({ short: 3, long: 8 });
const FLOW_MS = pick({ short: 1500, long: 4000 });
/** Number of handlers that run during each restart, and their duration. */
const TENDING = 3;
const TEND_MS = 3000;
/** The longest time for which a caller retries one key. */
const PATIENCE_MS = 60_000;

suite("R-3 repeated immediate stops of PostgreSQL lose no acknowledged job and store none twice", async (build) => {
  const home = path.join(makeFolder(), "server");
  mkdirSync(home, { mode: 0o755 });
  const options = { home, password: "of these tests alone", pgBin: process.env.PG_BIN };
  let server: EmbeddedServer = await startEmbedded(options);
  afterAll(async () => {
    await server.stop();
    rmSync(server.dir, { recursive: true, force: true, maxRetries: 5 });
  });
  const database = await createTestDatabase(await makeTemplate(server));
  const arena = await openArena({ on: database });
  // Its handlers query the database all the time. No outage of this suite is as long as their leases.
  await arena.defineHarm({ lease_seconds: 120, max_attempts: 2 });
  await arena.startScheduler();
  await arena.startWorker(build);
  const make = accountsIn(database);
  const user = await make.user({ roles: { [arena.scope.tenantId]: "admin" } });
  const { key } = await make.key(user, { tenantId: arena.scope.tenantId });
  const web = await startProcess("web", { database, env: { SHUTDOWN_GRACE_SECONDS: "3" } });

  const statuses = new Map<number, number>();
  let over = false;
  const post = async (once: string): Promise<string | null> => {
    const answer = await fetch(`${web.url}/api/v1/jobs`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": once },
      body: JSON.stringify({ definition_key: "speak", correlation_id: `once:${once}` }),
    });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    const body = (await answer.json()) as { id: string };
    return answer.status === 201 ? body.id : null;
  };
  const caller = async (name: number) => {
    for (let n = 0; !over; n += 1) {
      const giveUpAt = Date.now() + PATIENCE_MS;
      for (let id: string | null = null; id === null && Date.now() < giveUpAt; ) {
        id = await post(`${name}-${n}`);
        if (id === null) await sleep(100);
        else arena.accepted.push(id);
      }
    }
  };
  const flowing = async () => {
    const before = arena.accepted.length;
    await arena.pause(FLOW_MS, FLOW_MS * 1.5);
    await waitFor(() => arena.accepted.length >= before + CALLERS, { withinMs: PATIENCE_MS, what: "accepted jobs" });
  };
  const calling = Promise.all(Array.from({ length: CALLERS }, (_, name) => caller(name)));
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await flowing();
    await arena.enqueueAll(TENDING, () => ({ definitionKey: "harm", payload: { how: "tend", ms: TEND_MS } }));
    await waitFor(async () => (await stepsIn(database)) > 0, { withinMs: PATIENCE_MS, what: "a handler under way" });
    const { port } = server;
    process.kill(server.pid, "SIGQUIT");
    await server.exited;
    await arena.pause(100, 1500);
    server = await startEmbedded({ ...options, port });
    expect(server.port).toBe(port);
  }
  await flowing();
  over = true;
  await calling;
  const called = arena.accepted.length - RESTARTS * TENDING;
  const verify = async () => {
    arena.alive();
    const tended = await arena.database.query<{ status: string; n: number }>(
      `select a.status, count(*)::int as n from app.job_attempts a join app.jobs j on j.id = a.job_id
       where j.definition_id = (select id from app.job_definitions where key = 'harm') group by 1`,
    );
    expect(tended.filter(({ status }) => status !== "released")).toEqual([
      { status: "succeeded", n: RESTARTS * TENDING },
    ]);
    expect([...statuses.keys()].filter((status) => ![201, 409, 503].includes(status))).toEqual([]);
    expect(statuses.get(201)).toBe(called);
    expect(new Set(arena.accepted).size).toBe(arena.accepted.length);
    await web.stop();
  };
  const told = [...statuses].map(([status, n]) => `${n} × ${status}`).join(", ");
  return { arena, told: `${RESTARTS} restarts, answers ${told}`, verify };
});

/** Steps of handlers that have not ended yet. */
async function stepsIn(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    "select count(*)::int as n from app.job_steps s join app.live_jobs l on l.job_id = s.job_id",
  );
  return row?.n ?? 0;
}
