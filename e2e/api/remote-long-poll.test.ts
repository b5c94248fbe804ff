import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { rescueExpiredLeases } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { remoteFixture } from "./remote-fixture";

const database = await testDatabase();
const factory = makeFactory(database);
afterAll(() => factory.close());
const { web, superKey, enqueue, expectProblem, remote, leaveWhileWaiting, jobOf, attemptsOf } =
  await remoteFixture(database);

describe("the long poll", () => {
  test("returns when new work arrives", async () => {
    const { definition, claim } = await remote();
    const begun = performance.now();
    const waiting = claim({ wait_seconds: 30 });
    await setTimeout(500);
    const { id } = await enqueue({ definition_key: definition });
    const [job] = await waiting;
    expect(job.job_id).toBe(id);
    expect(performance.now() - begun).toBeLessThan(15_000);
  });

  test("returns an empty list at its timeout", async () => {
    const { claim } = await remote();
    const begun = performance.now();
    expect(await claim({ wait_seconds: 1 })).toEqual([]);
    expect(performance.now() - begun).toBeGreaterThan(900);
  });

  test("K-5 ends with 401 and claims nothing when the key is revoked meanwhile", async () => {
    const { definition, id: keyId, post } = await remote();
    const waiting = post("jobs/claim", { worker: { name: "one" }, definitions: [definition], wait_seconds: 20 });
    await setTimeout(300);
    const gone = await web.call("DELETE", `/api/v1/admin/worker-keys/${keyId}`, { key: superKey });
    expect(gone.status).toBe(200);
    const { id } = await enqueue({ definition_key: definition });
    expectProblem(await waiting, 401, "unauthenticated");
    expect((await jobOf(id)).status).toBe("queued");
  });

  test("a client that disconnects before the answer claims nothing and spends no attempt", async () => {
    const { definition, key: workerKey, claim } = await remote();
    const left = await leaveWhileWaiting(workerKey, {
      worker: { name: "gone" },
      definitions: [definition],
      wait_seconds: 30,
    });
    await left();
    const { id } = await enqueue({ definition_key: definition });
    await waitFor(async () => (await jobOf(id)).status === "queued", { what: "the return of the job" });
    const [job] = await claim({ wait_seconds: 10 });
    expect([job.job_id, job.attempt]).toEqual([id, 1]);
    expect((await attemptsOf(id)).filter((one: { status: string }) => one.status === "worker_lost")).toEqual([]);
  });

  test("a client that disconnects between claim and answer claims nothing", async () => {
    const { definition, key: workerKey, claim } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    const admin = new pg.Client({ connectionString: database.adminUrl });
    await admin.connect();
    // The definition is read after the claim, so the request waits here.
    await admin.query("begin; lock table app.job_definition_versions in access exclusive mode");
    const body = { worker: { name: "gone" }, definitions: [definition], wait_seconds: 10 };
    const leave = await leaveWhileWaiting(workerKey, body);
    await waitFor(async () => (await stateOf(id)) === "running", { what: "the claim" });
    await leave();
    await admin.query("commit");
    await admin.end();
    await waitFor(async () => (await jobOf(id)).status === "queued", { what: "the return of the job" });
    const [job] = await claim({ wait_seconds: 10 });
    expect([job.job_id, job.lease_no, job.attempt]).toEqual([id, 2, 1]);
    const attempts = await attemptsOf(id);
    expect(attempts.map((one: { status: string }) => one.status).toSorted()).toEqual(["released", "running"]);
  });

  test("an answer lost in a proxy spends no attempt: after its lease the job runs again with its full budget", async () => {
    const { definition, key: workerKey, claim, post } = await remote({ definition: { max_attempts: 1 } });
    const { id } = await enqueue({ definition_key: definition });
    const dropped = await claimThroughDroppingProxy(web.url, workerKey, definition);
    expect(dropped).toContain(id);
    expect(await stateOf(id)).toBe("running");
    await lapse(id);
    expect(await jobOf(id)).toMatchObject({ status: "queued", attempt_count: 0 });
    const [job] = await claim();
    expect([job.lease_no, job.attempt]).toEqual([2, 1]);
    expect((await post(`jobs/${id}/complete`, { lease_no: 2 })).status).toBe(200);
    const [heard, lost] = await attemptsOf(id);
    expect(lost).toMatchObject({ status: "worker_lost", started_at: null });
    expect(heard).toMatchObject({ status: "succeeded", started_at: job.claimed_at });
  });

  test("an attempt that sent a heartbeat is spent when its lease is lost", async () => {
    const { definition, claim, post } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    const [job] = await claim();
    expect((await post(`jobs/${id}/heartbeat`, { lease_no: 1 })).status).toBe(200);
    expect((await jobOf(id)).started_at).toBe(job.claimed_at);
    await lapse(id);
    expect(await jobOf(id)).toMatchObject({ status: "queued", attempt_count: 1 });
  });

  test("a key has a bounded number of open polls, and disconnecting frees them", async () => {
    const { definition, key: workerKey, post } = await remote();
    const body = { worker: { name: "one" }, definitions: [definition], wait_seconds: 30 };
    const clients = await Promise.all(Array.from({ length: 20 }, () => leaveWhileWaiting(workerKey, body)));
    const ask = () => post("jobs/claim", { ...body, wait_seconds: 1 });
    // On a busy machine one of them may have been refused with Retry-After, so another one is opened.
    const isFull = async () => {
      if ((await ask()).status === 429) return true;
      clients.push(await leaveWhileWaiting(workerKey, body));
      return false;
    };
    await waitFor(isFull, { withinMs: 30_000, what: "the refusal" });
    const answer = await ask();
    expectProblem(answer, 429, "too-many-polls");
    expect(answer.headers.get("retry-after")).toBe("1");
    await Promise.all(clients.map((leave) => leave()));
    await waitFor(async () => (await ask()).status === 200, { withinMs: 20_000, what: "a free place" });
  });
});

test("on shutdown waiting claims return no jobs at once", async () => {
  const { definition, claim } = await remote();
  const waiting = claim({ wait_seconds: 30 });
  await setTimeout(500);
  const begun = performance.now();
  const ended = web.stop();
  expect(await waiting).toEqual([]);
  expect(performance.now() - begun).toBeLessThan(10_000);
  expect(await ended).toBe(0);
  const rows = await database.query(
    "select 1 from app.live_jobs l join app.lanes n using (lane_no) join app.job_definitions d on d.id = n.definition_id where d.key = $1",
    [definition],
  );
  expect(rows).toEqual([]);
});

/** Sends a claim through a proxy that reads the whole answer and forwards none of it. Returns the lost answer. */
async function claimThroughDroppingProxy(url: string, key: string, definition: string): Promise<string> {
  const { hostname, port } = new URL(url);
  let onAnswer: (text: string) => void = () => undefined;
  const answer = new Promise<string>((resolve) => {
    onAnswer = resolve;
  });
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream, { end: false });
    let text = "";
    upstream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    upstream.on("end", () => onAnswer(text));
    client.on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const client = connect((proxy.address() as AddressInfo).port, "127.0.0.1");
  const body = JSON.stringify({ worker: { name: "behind-a-proxy" }, definitions: [definition] });
  client.write(
    `POST /api/v1/worker/jobs/claim HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const text = await answer;
  client.destroy();
  proxy.close();
  return text;
}

/** Ends the lease of a job, and puts the job back into the queue at once. */
async function lapse(id: string): Promise<void> {
  await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1", [
    id,
  ]);
  await rescueExpiredLeases(factory.scheduler, { limit: 10, random: () => 0 });
  await database.query("update app.live_jobs set ready = true where job_id = $1", [id]);
}

async function stateOf(id: string): Promise<string | undefined> {
  const [row] = await database.query("select state from app.live_jobs where job_id = $1", [id]);
  return row?.state;
}
