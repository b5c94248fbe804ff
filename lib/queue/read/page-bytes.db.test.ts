import { afterAll, expect, test } from "vitest";
import { createTrigger } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listEvents } from "../events/read-events";
import { listSteps } from "../steps/list-steps";
import { PAGE_BYTES } from "./page-bytes";
import { type LogPosition, listAttempts, readLogs } from "./read-output";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

const jobWith = async (statement: string): Promise<string> => {
  const { jobId } = await make.runningJob(scope);
  await database.query(statement, [jobId, scope.tenantId]);
  return jobId;
};
const bytesOf = (texts: readonly (string | null)[]) =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ""), 0);

/** Reads page by page until the end, and checks that every page but the last is full. */
async function readAll<T>(
  read: (last: T | undefined) => Promise<{ rows: readonly T[]; bytes: number; hasMore: boolean }>,
) {
  const pages: (readonly T[])[] = [];
  for (;;) {
    const { rows, bytes, hasMore } = await read(pages.at(-1)?.at(-1));
    pages.push(rows);
    if (rows.length > 1) expect(bytes).toBeLessThanOrEqual(PAGE_BYTES);
    if (!hasMore) return pages;
  }
}

test.each([
  ["all", {}],
  ["one attempt", { attempt: 2 }],
  ["one stream", { stream: "stderr" }],
] as const)(
  "a page of logs has at most 512 KiB, and the pages contain every chunk once, in order: %s",
  async (_, filter) => {
    const id = await jobWith(
      `insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, body, context)
     select $1, n, seq, $2, case when seq % 3 = 0 then 'stderr' else 'stdout' end,
       repeat('é', case seq when 40 then 600000 else 16384 end),
       case when seq % 7 = 0 then jsonb_build_object('a', repeat('c', 20000)) end
     from generate_series(1, 2) n, generate_series(0, 60) seq`,
    );
    const pages = await readAll(async (after: NonNullable<LogPosition["after"]> | undefined) => {
      const page = await readLogs(make.web, scope, id, { ...filter, limit: 1000, ...(after ? { after } : {}) });
      const rows = page?.lines ?? [];
      const texts = rows.flatMap(({ body, context }) => [body, context === null ? "" : JSON.stringify(context)]);
      return { rows, bytes: bytesOf(texts), hasMore: page?.hasMore === true };
    });
    const stored = await database.query<{ at: string }>(
      `select attempt_no || ':' || seq as at from app.job_logs where job_id = $1 and ($2::int is null or attempt_no = $2)
       and ($3::text is null or stream = $3) order by attempt_no, seq`,
      [id, "attempt" in filter ? filter.attempt : null, "stream" in filter ? filter.stream : null],
    );
    expect(pages.flat().map(({ attempt_no: attemptNo, seq }) => `${attemptNo}:${seq}`)).toEqual(
      stored.map(({ at }) => at),
    );
    expect(pages.length).toBeGreaterThan(2);
  },
);

test("a page of small logs ends at its limit and reports that more exist", async () => {
  const id = await jobWith(
    `insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, body)
     select $1, 1, seq, $2, 'stdout', 'x' from generate_series(0, 9) seq`,
  );
  const page = async (limit: number) => {
    const read = await readLogs(make.web, scope, id, { limit });
    return [read?.lines.length, read?.hasMore];
  };
  expect([await page(9), await page(10), await page(11)]).toEqual([
    [9, true],
    [10, false],
    [10, false],
  ]);
});

test("a page of attempts has at most 512 KiB of texts, and the pages contain every attempt once, latest first", async () => {
  const id = await jobWith(
    `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, worker_id, claimed_at, error_text,
       stdout_tail, stderr_tail)
     select $1, n + 1, $2, 1, 'failed', 'w', app.now(), repeat('e', 16384), repeat('o', 100000),
       repeat('e', case n when 5 then 500000 else 50000 end)
     from generate_series(1, 12) n`,
  );
  await database.query("update app.live_jobs set lease_no = 14 where job_id = $1", [id]);
  for (const tails of [true, false]) {
    const pages = await readAll(async (last: { readonly attempt_no: number } | undefined) => {
      const rows = (await listAttempts(make.web, scope, id, { limit: 20, tails, beforeNo: last?.attempt_no })) ?? [];
      const texts = rows.flatMap(({ error_text: errorText, stdout_tail: stdoutTail, stderr_tail: stderrTail }) => [
        errorText,
        stdoutTail,
        stderrTail,
      ]);
      return { rows, bytes: bytesOf(texts), hasMore: rows.at(-1)?.has_older === true };
    });
    expect(pages.flat().map(({ attempt_no: attemptNo }) => attemptNo)).toEqual([
      14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
    ]);
    expect(pages.map((page) => page.length)).toEqual(tails ? [4, 3, 1, 1, 3, 1] : [13]);
  }
});

test("a page of steps has at most 512 KiB, and the pages contain every step once, in order", async () => {
  const id = await jobWith(
    `insert into app.job_steps (job_id, run_no, name, tenant_id, attempt_no, result, created_at)
     select $1, run, 'step: ' || n, $2, 1, to_jsonb(repeat('x', case when n % 5 = 0 then 30000 else 16000 end)),
       '2026-01-01'::timestamptz + (n / 3) * interval '1 us'
     from generate_series(1, 2) run, generate_series(1, 100) n`,
  );
  const pages = await readAll(async (last: { readonly run_no: number; readonly name: string } | undefined) => {
    const page = await listSteps(make.web, scope, id, last);
    const rows = page?.steps ?? [];
    const texts = rows.map(({ result_omitted, result }) => (result_omitted ? null : JSON.stringify(result)));
    return { rows, bytes: bytesOf(texts), hasMore: page?.hasMore === true };
  });
  const stored = await database.query<{ step: string }>(
    "select run_no || name as step from app.job_steps where job_id = $1 order by run_no desc, created_at, name",
    [id],
  );
  expect(pages.flat().map(({ run_no: runNo, name }) => `${runNo}${name}`)).toEqual(stored.map(({ step }) => step));
  expect(pages.length).toBeGreaterThan(4);
});

test("a page of events has at most 512 KiB of firings, and the pages contain every event once, newest first", async () => {
  const { key } = await make.definition();
  const trigger = { label: "a", trigger_type: "event", event_name: "never", definition_key: key } as const;
  const { id } = await createTrigger(make.web, scope, trigger);
  await database.query(
    `with made as (
       insert into app.events (tenant_id, name, data, source, status) select $1, 'said', '{}', 'api', 'done'
       from generate_series(1, 100) returning id)
     insert into app.trigger_firings (tenant_id, trigger_id, event_id, kind, fire_at, outcome, reason, detail)
     select $1, $2, made.id, 'event', app.now(), 'failed', 'payload_invalid', repeat('é', 2000)
     from made, generate_series(1, 5)`,
    [scope.tenantId, id],
  );
  const pages = await readAll(async (last: { readonly id: string } | undefined) => {
    const place = { filter: { name: "said" }, limit: 70, ...(last ? { afterId: last.id } : {}) };
    const { events, hasMore } = await listEvents(make.web, scope, place);
    return {
      rows: events,
      bytes: bytesOf(events.flatMap(({ firings }) => firings.map(({ detail }) => detail))),
      hasMore,
    };
  });
  const stored = await database.query<{ id: string }>("select id from app.events where name = 'said' order by id desc");
  expect(pages.flat().map((event) => event.id)).toEqual(stored.map((event) => event.id));
  expect(pages.map((page) => page.length)).toEqual([26, 26, 26, 22]);
});
