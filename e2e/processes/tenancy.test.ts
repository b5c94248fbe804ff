import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { startWeb } from "@/e2e/api/web";
import { ROUTES } from "@/lib/api/routes";
import { enqueueJob } from "@/lib/queue/testing";
import { waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { openStage } from "./stage";

const CANARY = "canary-c41f07";
const UNFILTERED = { LEASEHOLD_TEST_NO_TENANT_FILTER: "1" };
const BROWSER = { accept: "text/html" };

// The stage's own tenant is A. Tenant B must not see its data.
const stage = await openStage();
const make = accountsIn(stage.database);
const a = { id: stage.scope.tenantId, slug: "acme" };
const b = await make.tenant("globex");
const ofA = await make.user({ roles: { [a.id]: "admin" } });
const ofB = await make.user({ roles: { [b.id]: "admin" } });
const keyA = (await make.key(ofA, { tenantId: a.id })).key;
const keyB = (await make.key(ofB, { tenantId: b.id })).key;
const web = await startWeb(stage.database, UNFILTERED);
await stage.startScheduler();
await stage.startWorker(UNFILTERED);
const marks = { tags: [CANARY], correlationId: CANARY, dedupeKey: CANARY, metadata: { note: CANARY } };
const jobs = { failed: "", running: "", waiting: "" };
let mine = "";

beforeAll(async () => {
  jobs.failed = await stage.act({ say: CANARY, exit: 1 }, { ...marks, maxAttempts: 1 });
  await stage.settled(jobs.failed);
  jobs.running = await stage.act({ say: CANARY, run_ms: 120_000 });
  jobs.waiting = await stage.act({ say: CANARY }, { scheduledFor: new Date("2090-01-01"), tags: [CANARY] });
  await stage.running(jobs.running);
  await waitFor(async () => JSON.stringify(await stage.logs(jobs.running)).includes(CANARY));
  for (const tenantId of [a.id, b.id]) await addFiles(tenantId, tenantId === a.id ? CANARY : "mine");
  mine = await enqueueInB();
});

/** Inserts rows as an inventory and an import would. */
async function addFiles(tenantId: string, name: string): Promise<void> {
  await stage.database.query(
    `with provider as (
       insert into app.providers (tenant_id, name, path) values ($1, $2, '/srv/' || $2) returning id, tenant_id
     ), list as (insert into app.lists (tenant_id, name) values ($1, $2) returning id, tenant_id
     ), row as (insert into app.list_rows (tenant_id, list_id, line_no, data)
       select tenant_id, id, 2, jsonb_build_object('a', $2) from list)
     insert into app.assets (tenant_id, provider_id, path, path_hash, size, sha256, media_type, modified_at, seen_in)
     select tenant_id, id, $2, sha256($2::bytea), 1, repeat('0', 64), 'text/plain', now(), gen_random_uuid() from provider`,
    [tenantId, name],
  );
}

const enqueueInB = async () =>
  (await enqueueJob(stage.factory.web, { ...stage.scope, tenantId: b.id }, { definitionKey: "quick", payload: {} }))
    .jobId;

const reads = Object.entries(ROUTES)
  .filter(([path, methods]) => methods.GET && !path.endsWith("/stream"))
  .map(([path]) => path);
const foreign = () => [CANARY, a.id, ...Object.values(jobs)];

/** Every request of a route that could return data of A. */
function addresses(path: string): string[] {
  const filled = path.includes("[jobId]")
    ? Object.values(jobs).map((id) => path.replace("[jobId]", id))
    : [path.replace(/\[.*?\]/, "session")];
  if (path.endsWith("/attempts")) return [...filled, ...filled.map((address) => `${address}?tails=true`)];
  if (path !== "/api/v1/jobs") return filled;
  const filters = [
    `tag=${CANARY}`,
    `correlation_id=${CANARY}`,
    `q=${jobs.failed}`,
    "status=failed,dead_letter,running",
  ];
  return [...filled, ...filters.map((filter) => `${path}?limit=200&${filter}`)];
}

function expectNothingOfA(text: string, asked: string): void {
  // An answer may repeat words of the requested address.
  const leaked = foreign().filter((word) => !asked.includes(word));
  for (const word of leaked)
    expect(text.includes(word), `${word} in the answer to ${asked}: ${text.slice(0, 500)}`).toBe(false);
}

describe("TENANT-08 with row security alone, B sees nothing of A", () => {
  test("A's own key finds the canary on every route that returns it", async () => {
    const job = `/api/v1/jobs/${jobs.failed}`;
    for (const path of [
      "/api/v1/jobs",
      job,
      `${job}/logs`,
      `${job}/attempts?tails=true`,
      "/api/v1/assets",
      "/api/v1/providers",
    ]) {
      expect((await web.call("GET", path, { key: keyA })).text, path).toContain(CANARY);
    }
  });

  test("the canary is on no GET route, with a key or a session, for each tenant that B names", async () => {
    const cookie = await web.login(ofB);
    const callers = [{ key: keyB }, { cookie }, { cookie, tenant: "globex" }, { cookie, tenant: "acme" }];
    let answered = 0;
    for (const path of reads.flatMap(addresses)) {
      for (const caller of [...callers, { key: keyB, tenant: a.id }]) {
        const answer = await web.call("GET", path, caller);
        expect(answer.status, path).toBeLessThan(500);
        if (answer.status === 200) answered += 1;
        expectNothingOfA(answer.text, `${path} ${caller.tenant ?? ""}`);
      }
    }
    expect(answered).toBeGreaterThan(reads.length);
    const own = await web.call("GET", "/api/v1/jobs", { key: keyB });
    expect(own.body.data.map(({ id }: { id: string }) => id)).toEqual([mine]);
    const summary = await web.call("GET", "/api/v1/jobs/summary", { key: keyB });
    expect([summary.body.running_count, summary.body.counts.dead_letter, summary.body.counts.running]).toEqual([
      0, 0, 0,
    ]);
  });

  test("the canary is on no page", async () => {
    const cookie = await web.login(ofB);
    const pages = ["", "/select-tenant", "/platform/workers", "/login"].concat(
      ...["acme", "globex"].map((slug) =>
        ["jobs", "assets", ...Object.values(jobs).map((id) => `jobs/${id}`)].map((page) => `/t/${slug}/${page}`),
      ),
    );
    for (const page of pages) {
      const { status, text } = await web.call("GET", page || "/", { cookie, headers: BROWSER });
      expect(status, page).toBeLessThan(500);
      expectNothingOfA(text, page);
    }
    expect((await web.call("GET", "/t/globex/jobs", { cookie, headers: BROWSER })).text).toContain(mine);
  });

  test("the live stream sends B its own jobs only", async () => {
    const controller = new AbortController();
    const response = await fetch(`${web.url}/api/v1/jobs/stream`, {
      headers: { authorization: `Bearer ${keyB}` },
      signal: controller.signal,
    });
    expect(response.status).toBe(200);
    let heard = "";
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) heard += decoder.decode(chunk, { stream: true });
    })().catch(() => undefined);
    await waitFor(() => heard.length > 0, { what: "the beginning of the stream" });
    const foreignJob = await stage.act({ say: CANARY, exit: 1 }, { tags: [CANARY], maxAttempts: 1 });
    await stage.settled(foreignJob);
    const own = await enqueueInB();
    await waitFor(() => heard.includes(own), { what: "the event of B's own job" });
    await sleep(1000); // a late event would arrive now
    controller.abort();
    await reading;
    expectNothingOfA(heard, "the stream");
    expect(heard).not.toContain(foreignJob);
  });

  test("without row security the canary appears, so row security alone hides it", async () => {
    await stage.database.query("alter table app.assets no force row level security, disable row level security");
    expect((await web.call("GET", "/api/v1/assets", { key: keyB })).text).toContain(CANARY);
  });
});
