import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { openStage } from "./stage";

/** How long the server has no free connection. */
const FULL_MS = 3000;
const NEVER_A_500 = /an uncaught error|"status":500/;

test("R-10 while the server has no free connection the API answers 503 with Retry-After; afterwards work resumes", async () => {
  const stage = await openStage();
  const { database, scope } = stage;
  const processes = [await stage.startScheduler(), await stage.startWorker()];
  const web = await startProcess("web", { database, env: { SHUTDOWN_GRACE_SECONDS: "3" } });
  const make = accountsIn(database);
  const user = await make.user({ roles: { [scope.tenantId]: "admin" } });
  const { key } = await make.key(user, { tenantId: scope.tenantId });
  const post = async (body: object) => {
    const answer = await fetch(`${web.url}/api/v1/jobs`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ definition_key: "quick", ...body }),
    });
    const { id } = (await answer.json()) as { id?: string };
    return { status: answer.status, retryAfter: answer.headers.get("retry-after"), id: id ?? "" };
  };
  const first = await post({});
  expect(first.status).toBe(201);
  await stage.settled(first.id);

  // Only the administrator can connect, as when every connection is in use.
  await database.query(`alter database ${database.name} connection limit 0`);
  await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  const answers: Awaited<ReturnType<typeof post>>[] = [];
  for (const until = Date.now() + FULL_MS; Date.now() < until; await sleep(100)) answers.push(await post({}));
  await database.query(`alter database ${database.name} connection limit -1`);
  expect(answers.length).toBeGreaterThan(0);
  for (const { status, retryAfter } of answers) {
    expect(status).toBe(503);
    expect(Number(retryAfter)).toBeGreaterThan(0);
  }

  // Due in a moment, so that the leader must promote it and a worker must run it.
  const due = { scheduled_for: new Date(Date.now() + 1000).toISOString() };
  const accepted = await waitFor(
    async () => {
      const answer = await post(due);
      return answer.status === 201 ? answer : null;
    },
    { withinMs: 30_000, what: "an accepted job" },
  );
  expect((await stage.settled(accepted.id)).status).toBe("succeeded");
  const leads = "select 1 from app.leader where last_seen_at > now() - interval '3 s'";
  await waitFor(async () => (await database.query(leads)).length === 1, { withinMs: 30_000, what: "a leader" });
  for (const { child, output } of [...processes, web]) {
    expect(child.exitCode, output()).toBeNull();
    expect(output()).not.toMatch(NEVER_A_500);
  }
}, 120_000);
