import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { listWorkers } from "@/lib/queue/testing";
import { plainEnvironment, startProcess, waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { findPython } from "@/scripts/lib/test/python.mjs";
import { expectOneEndEach, openStage } from "./stage";

const LEASE_SECONDS = 5;
const PROBE = "e2e/processes/remote/probe_worker.py";
const python = await findPython();
const stage = await openStage();
const retry = { strategy: "fixed", delaySeconds: 0.1 } as const;
const leases = { probe: LEASE_SECONDS, "summarize-text": LEASE_SECONDS, patient: 120 };
for (const [key, leaseSeconds] of Object.entries(leases)) {
  await stage.factory.definition({
    key,
    executor: "remote",
    lease_seconds: leaseSeconds,
    kill_grace_seconds: 1,
    retry,
  });
}
const make = accountsIn(stage.database);
const { key } = await make.key(await make.user({ superAdmin: true }), {
  kind: "worker",
  definitions: Object.keys(leases),
});
const scheduler = await stage.startScheduler();
let web = await startProcess("web", { database: stage.database });
afterAll(() => Promise.all([web.stop(), scheduler.stop()]));

interface PythonWorker {
  readonly child: ChildProcess;
  output(): string;
  readonly exited: Promise<number | string>;
}
const workers: PythonWorker[] = [];
afterEach(async () => {
  for (const { child } of workers) child.kill("SIGKILL");
  await Promise.all(workers.splice(0).map(({ exited }) => exited));
});

/** Starts a Python worker and waits until web lists it. */
async function startPython(label: string, { script = PROBE, concurrency = 4 } = {}): Promise<PythonWorker> {
  const own = { LEASEHOLD_URL: web.url, LEASEHOLD_WORKER_KEY: key, LABEL: label, CONCURRENCY: String(concurrency) };
  const env = { ...plainEnvironment(), ...own };
  const child = spawn(python, ["-u", "-B", path.resolve(script)], { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const exited = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  const worker = { child, output: () => output, exited };
  workers.push(worker);
  await waitFor(async () => (await listWorkers(stage.factory.platform)).some(({ pid }) => pid === child.pid), {
    withinMs: 20_000,
    what: `the first claim of ${label}`,
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${output}`);
  });
  return worker;
}

const diaryOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").filter(Boolean) : [];
const begun = (file: string) =>
  waitFor(() => diaryOf(file).some((line) => line.endsWith("begin")), { withinMs: 20_000, what: "the begin" });
const statusOf = async (worker: PythonWorker) =>
  (await listWorkers(stage.factory.platform)).find(({ pid }) => pid === worker.child.pid)?.status;

describe("Z-16 a worker in Python", () => {
  test("the example in the docs runs a job and reports its output and result", async () => {
    await startPython("example", { script: "docs/examples/python/summarize_text.py" });
    const id = await stage.enqueue("summarize-text", { text: "one two\nthree\n" });
    const job = await stage.settled(id);
    expect([job.status, job.result]).toEqual([
      "succeeded",
      { lines: 2, words: 3, characters: 14, longest_word: "three" },
    ]);
    expect((await stage.logs(id)).map(({ body }) => body)).toEqual(["14 characters to go through"]);
    const empty = await stage.settled(await stage.enqueue("summarize-text", { text: " " }));
    expect([empty.status, empty.error_type, empty.attempt_count]).toEqual(["dead_letter", "invalid_input", 1]);
  });

  test("job.artifact uploads a file in several parts", async () => {
    await startPython("a");
    const job = await stage.settled(await stage.enqueue("probe", { artifact_bytes: 1_200_000 }));
    const sha256 = createHash("sha256").update(Buffer.alloc(1_200_000)).digest("hex");
    expect([job.status, job.result]).toEqual(["succeeded", { size: 1_200_000, sha256 }]);
    const listed = await stage.database.query("select name, chunks, size from app.artifacts where job_id = $1", [
      job.id,
    ]);
    expect(listed.map(({ name, chunks, size }) => [name, chunks, Number(size)])).toEqual([["zeros", 3, 1_200_000]]);
  });

  test("two workers end each of many jobs once", async () => {
    await Promise.all([startPython("a"), startPython("b")]);
    const ids = [];
    for (let n = 0; n < 30; n += 1) ids.push(await stage.enqueue("probe", { run_seconds: 0.05 }));
    for (const id of ids) expect((await stage.settled(id)).status).toBe("succeeded");
    await expectOneEndEach(stage, ids);
  });

  test("failed jobs are retried, and end as dead letters after their last attempt", async () => {
    await startPython("a");
    const id = await stage.enqueue("probe", { fail: "it broke", progress: 30 }, { maxAttempts: 2 });
    const job = await stage.settled(id);
    expect([job.status, job.attempt_count, job.error_type]).toEqual(["dead_letter", 2, "internal"]);
    expect(await stage.statuses(id)).toEqual(["failed", "failed"]);
    expect((await stage.attempts(id)).map(({ error_text: errorText }) => errorText)).toEqual(["it broke", "it broke"]);
    expect((await stage.logs(id)).map(({ body }) => body)).toEqual(["attempt 1 says hello", "attempt 2 says hello"]);
  });

  test("a result that is not JSON fails the attempt once with the reason, and the worker continues", async () => {
    const worker = await startPython("a");
    const reasons = {
      ...{ object: "TypeError", bytes: "TypeError", nan: "ValueError", circle: "ValueError", key: "TypeError" },
      ...{ snooze: "TypeError", class: "TypeError", delay: "ValueError", mute: "Mute", exit: "SystemExit: 3" },
    };
    const ids = new Map<string, string>();
    for (const no_json of Object.keys(reasons))
      ids.set(no_json, await stage.enqueue("probe", { no_json }, { maxAttempts: 1 }));
    for (const [kind, reason] of Object.entries(reasons)) {
      const job = await stage.settled(ids.get(kind) ?? "");
      expect([kind, job.status, job.last_error]).toEqual([kind, "dead_letter", expect.stringMatching(`^${reason}`)]);
    }
    await expectOneEndEach(stage, [...ids.values()]);
    expect(worker.output()).not.toContain("Exception in thread");
  });

  test("a snooze spends no attempt", async () => {
    await startPython("a");
    const later = await stage.enqueue("probe", { snooze: 1, diary: stage.diaryFile("snooze") });
    const snoozed = await stage.settled(later);
    expect([snoozed.status, snoozed.attempt_count]).toEqual(["succeeded", 1]);
    expect(await stage.statuses(later)).toEqual(["snoozed", "succeeded"]);
  });

  test("a result or error that the server refuses ends the job at once, with a shortened result or a reason", async () => {
    await startPython("a");
    const run = async (payload: Record<string, unknown>) =>
      stage.settled(await stage.enqueue("probe", payload, { maxAttempts: 3 }));
    for (const unit of ["a", "\u0001", "é", "🎉"]) {
      const { status, attempt_count: attemptCount, result } = await run({ big: 2_000_000, unit });
      const preview = expect.stringContaining(JSON.stringify(unit).slice(1, -1));
      const expected = { truncated: true, bytes: expect.any(Number), preview };
      expect([unit, status, attemptCount, result]).toEqual([unit, "succeeded", 1, expected]);
    }
    expect((await run({ digits: true })).result).toEqual({ id: "1152921504606846976", half: "\ufffd", ratio: 0.1 });
    const refused = await run({ fail: "no disk", error_class: "no-such-class" });
    expect([refused.status, refused.attempt_count, refused.error_type]).toEqual(["dead_letter", 1, "internal"]);
    expect(refused.last_error).toMatch(/^The server refused how the attempt ended \(fail\): 422 .*no disk/);
    const long = await run({ fail: "🎉".repeat(8000), error_class: "validation" });
    expect([long.error_type, long.attempt_count, long.last_error?.startsWith("🎉")]).toEqual(["validation", 1, true]);
    expect((await run({ mood: "🎉".repeat(500), flood: 12 })).status).toBe("succeeded");
  });

  test("a canceled job is asked to stop, and stops", async () => {
    await startPython("a");
    const diary = stage.diaryFile("cancel");
    const id = await stage.enqueue("probe", { diary, run_seconds: 60 });
    await begun(diary);
    await stage.cancel(id);
    const job = await stage.settled(id);
    expect([job.status, job.attempt_count]).toEqual(["canceled", 0]);
    expect(diaryOf(diary)).toEqual(["a 1 begin", "a 1 stopped-cancel"]);
  });

  test("an attempt over its time limit ends as timeout", async () => {
    await startPython("a");
    const diary = stage.diaryFile("timeout");
    const id = await stage.enqueue("probe", { diary, run_seconds: 60 }, { timeoutSeconds: 1, maxAttempts: 1 });
    expect((await stage.settled(id)).status).toBe("dead_letter");
    expect(await stage.statuses(id)).toEqual(["timeout"]);
    expect(diaryOf(diary)).toEqual(["a 1 begin", "a 1 stopped-timeout"]);
  });
});

describe("a Python worker that stops or freezes", () => {
  test("LEASE-02 after kill -9 another worker takes over when the lease expires, and the attempt is spent", async () => {
    const first = await startPython("first");
    const diary = stage.diaryFile("killed");
    const until = `${diary}.until`;
    const id = await stage.enqueue("probe", { diary, until, run_seconds: 60 });
    await begun(diary);
    first.child.kill("SIGKILL");
    await first.exited;
    const killedAt = Date.now();
    writeFileSync(until, "");
    await startPython("second");
    const job = await stage.settled(id);
    expect(Date.now() - killedAt).toBeLessThan((LEASE_SECONDS + 20) * 1000);
    expect([job.status, job.attempt_count, job.result]).toEqual(["succeeded", 2, { label: "second", attempt: 2 }]);
    expect(await stage.statuses(id)).toEqual(["worker_lost", "succeeded"]);
    await expectOneEndEach(stage, [id]);
  });

  test("LEASE-01 frozen past its lease, its late end is refused, and it continues with other jobs", async () => {
    // One slot, so that none of its claims waits while it is frozen.
    const first = await startPython("first", { concurrency: 1 });
    const diary = stage.diaryFile("frozen");
    const until = `${diary}.until`;
    const id = await stage.enqueue("probe", { diary, until, run_seconds: 60 });
    await begun(diary);
    first.child.kill("SIGSTOP");
    writeFileSync(until, "");
    const second = await startPython("second");
    expect((await stage.settled(id)).result).toEqual({ label: "second", attempt: 2 });
    second.child.kill("SIGTERM");
    await second.exited;
    first.child.kill("SIGCONT");
    await waitFor(() => first.output().includes("the lease is lost"), { withinMs: 20_000, what: "the refusal" });
    expect(await stage.statuses(id)).toEqual(["worker_lost", "succeeded"]);
    await expectOneEndEach(stage, [id]);
    const next = await stage.settled(await stage.enqueue("probe", {}));
    expect(next.result).toEqual({ label: "first", attempt: 1 });
  });

  test("SIGTERM releases running jobs without spending an attempt and exits 0", async () => {
    const first = await startPython("first");
    const diary = stage.diaryFile("drained");
    const until = `${diary}.until`;
    const id = await stage.enqueue("probe", { diary, until, run_seconds: 60 });
    await begun(diary);
    first.child.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    expect(diaryOf(diary)).toEqual(["first 1 begin", "first 1 stopped-shutdown"]);
    expect(await statusOf(first)).toBe("stopped");
    writeFileSync(until, "");
    await startPython("second");
    const job = await stage.settled(id);
    expect([job.result, job.attempt_count]).toEqual([{ label: "second", attempt: 1 }, 1]);
    expect(await stage.statuses(id)).toEqual(["released", "succeeded"]);
  });

  test("SIGTERM while it polls exits at once and claims nothing", async () => {
    const first = await startPython("first");
    const begunAt = Date.now();
    first.child.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    expect(Date.now() - begunAt).toBeLessThan(10_000);
    const id = await stage.enqueue("probe", {});
    await startPython("second");
    expect((await stage.settled(id)).result).toEqual({ label: "second", attempt: 1 });
    expect(await stage.statuses(id)).toEqual(["succeeded"]);
  });
});

describe("a web process that stops", () => {
  test("the worker waits for it and completes its running job when web is back", async () => {
    const worker = await startPython("a");
    const diary = stage.diaryFile("outage");
    const until = `${diary}.until`;
    const id = await stage.enqueue("patient", { diary, until, run_seconds: 60 });
    await begun(diary);
    const { port } = web;
    await web.stop();
    writeFileSync(until, "");
    await waitFor(() => /no answer/.test(worker.output()), { withinMs: 20_000, what: "the silence" });
    web = await startProcess("web", { database: stage.database, env: { PORT: String(port) } });
    expect((await stage.settled(id, 60_000)).result).toEqual({ label: "a", attempt: 1 });
    const next = await stage.settled(await stage.enqueue("probe", {}), 60_000);
    expect(next.status).toBe("succeeded");
  });

  test("a revoked key makes the worker exit with 1", async () => {
    const worker = await startPython("a");
    await stage.database.query("update app.api_keys set revoked_at = now()");
    await stage.enqueue("probe", {});
    expect(await worker.exited).toBe(1);
    await stage.database.query("update app.api_keys set revoked_at = null");
  });
});
