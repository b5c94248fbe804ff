export const times = <Item>(count: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => item(index));
export const keyed = (count: number, value: (index: number) => unknown = () => 1): Record<string, unknown> =>
  Object.fromEntries(times(count, (index) => [`k${index}`, value(index)]));
export const again = (bit: string, bytes: number): string => bit.repeat(Math.floor(bytes / Buffer.byteLength(bit)));
export const KB = 1024;
export const PEM = "-----BEGIN PRIVATE KEY-----";
export const TOKEN = "-eyJaaaaaa";
const OPEN = `{{"${again('\\"', 120 * KB)}`;
const MANY = keyed(9_900);
export const NIL = "00000000-0000-4000-8000-000000000000";

export const SLOW_SCHEMA = {
  properties: { list: { items: { anyOf: [...times(300, () => ({ minimum: 5 })), { type: "string" }] } } },
};
const job = (payload: unknown, more: object = {}) => ({ definition_key: "any", payload, ...more });
export const list = times(9_900, () => 1);

export const BODIES: readonly [string, string, unknown, readonly number[]][] = [
  ["a job with one long text", "jobs", job({ a: again("a", 250 * KB) }), [201]],
  ["a job with many keys", "jobs", job(MANY), [201]],
  ["a job with escaped controls", "jobs", job({ a: again("\u0001", 40 * KB) }), [201]],
  ["a job that takes long to check", "jobs", { definition_key: "slow", payload: { list } }, [422]],
  ["a job with many unknown fields", "jobs", keyed(9_900), [422]],
  ["a job with an open placeholder", "jobs", job({ a: OPEN }, { depends_on: [{ job_id: NIL }] }), [422]],
  ["a body of brackets", "jobs", "[".repeat(1000 * KB), [400, 422]],
  ["a body of numbers", "jobs", `[${again("1e9999,", 1000 * KB)}1]`, [400, 422]],
  ["a body of one key", "jobs", `{${again('"a":1,', 1000 * KB)}"a":1}`, [400, 422]],
  ["a body of blanks", "jobs", `${" ".repeat(1000 * KB)}{}`, [422]],
  ["a batch of 1,000 jobs", "jobs/bulk", { jobs: times(1000, (index) => job({ a: again("a", 900), index })) }, [201]],
  ["a batch of large jobs", "jobs/bulk", { jobs: times(4, () => job({ a: again("a", 240 * KB) })) }, [201]],
  [
    "a batch of jobs that take long to check",
    "jobs/bulk",
    { jobs: times(8, () => ({ definition_key: "slow", payload: { list } })) },
    [422],
  ],
  ["a batch with a payload of 90,000 keys", "jobs/bulk", { jobs: [job(keyed(90_000))] }, [422]],
  [
    "a batch of jobs that wait for each other",
    "jobs/bulk",
    {
      jobs: times(1000, (index) =>
        job(
          {},
          {
            ref: `r${index}`,
            ...(index === 0
              ? {}
              : { depends_on: times(Math.min(index, 4), (back) => ({ ref: `r${index - 1 - back}` })) }),
          },
        ),
      ),
    },
    [201],
  ],
  [
    "events with much data",
    "events",
    { events: times(4, () => ({ name: "big.data", data: { a: again("a", 240 * KB) } })) },
    [200, 201],
  ],
  ["an event with 90,000 unknown fields", "events", keyed(90_000), [422]],
  ["a batch of one event with 90,000 unknown fields", "events", { events: [keyed(90_000)] }, [422]],
  ["events full of faults", "events", { events: times(500, () => keyed(190)) }, [422]],
  ["a batch of one job with 90,000 unknown fields", "jobs/bulk", { jobs: [keyed(90_000)] }, [422]],
  ["500 events", "events", { events: times(500, () => ({ name: "many.events", data: keyed(100) })) }, [200, 201]],
  ["an event that triggers compare", "events", { name: "compared", data: { a: keyed(4_900), b: keyed(4_900) } }, [201]],
  ["an event that triggers copy", "events", { name: "copied", data: { a: again("a", 200 * KB) } }, [201]],
  [
    "a preview with an open placeholder",
    "jobs/triggers/preview",
    { schedule_type: "cron", cron_expr: "* * * * *", timezone: "UTC", payload_template: { a: OPEN } },
    [200],
  ],
  [
    "a preview of a rare instant",
    "jobs/triggers/preview",
    { schedule_type: "cron", cron_expr: "0 0 29 2 1", timezone: "America/New_York", count: 100 },
    [200, 422],
  ],
  [
    "a preview of no instant",
    "jobs/triggers/preview",
    { schedule_type: "cron", cron_expr: "0 0 31 2 *", timezone: "Europe/Berlin", count: 100 },
    [200, 422],
  ],
  [
    "a preview of a long list",
    "jobs/triggers/preview",
    {
      schedule_type: "cron",
      cron_expr: `${times(60, String).join(",")} ${times(24, String).join(",")} * * *`,
      timezone: "Australia/Lord_Howe",
      count: 100,
    },
    [200],
  ],
  [
    "a preview with many placeholders",
    "jobs/triggers/preview",
    {
      schedule_type: "cron",
      cron_expr: "* * * * *",
      timezone: "UTC",
      payload_template: { a: again("{{trigger.label}}", 200 * KB) },
    },
    [200, 422],
  ],
  [
    "a trial of a condition",
    "jobs/triggers/test",
    {
      event: { name: "a", data: { a: keyed(4_900), b: keyed(4_900) } },
      draft: {
        event_name: "a",
        condition: times(8, () => "event.a==event.b").join("&&"),
        payload_template: { a: "{{event}}" },
      },
    },
    [200],
  ],
  [
    "a trial of an open placeholder",
    "jobs/triggers/test",
    { event: { name: "a" }, draft: { event_name: "a", payload_template: { a: OPEN } } },
    [200, 422],
  ],
  [
    "a trial of all triggers",
    "jobs/triggers/test",
    { event: { name: "compared", data: { a: keyed(4_900), b: keyed(4_900) } } },
    [200, 422],
  ],
  [
    "a trigger with an open placeholder",
    "jobs/triggers",
    { label: "a", trigger_type: "event", event_name: "a", definition_key: "any", payload_template: { a: OPEN } },
    [422],
  ],
  [
    "a trigger with a deep condition",
    "jobs/triggers",
    {
      label: "a",
      trigger_type: "event",
      event_name: "a",
      definition_key: "any",
      condition: again("(", 2000) + again(")", 1900),
    },
    [422],
  ],
  ["a webhook with many headers", "webhooks", { url: "https://example.com/", headers: keyed(9_900, () => "a") }, [422]],
  ["a webhook with a long URL", "webhooks", { url: `https://${again("a.", 2000)}` }, [422]],
  [
    "an act on 1,000 jobs",
    "jobs/actions",
    { action: "cancel", ids: times(1000, (index) => NIL.slice(0, -4) + String(index).padStart(4, "0")), dry_run: true },
    [200],
  ],
  ["a retry of another payload", `jobs/${NIL}/retry`, { payload: MANY }, [404]],
];

const LONG = encodeURIComponent(again("%_\\", 120));
export const QUERIES: readonly [string, readonly number[]][] = [
  [`/api/v1/jobs?q=${LONG}&tag=${again("a", 64)}`, [200]],
  [`/api/v1/jobs?status=${again("queued,", 7.9 * KB)}`, [400]],
  [`/api/v1/jobs?cursor=${again("A", 1024)}`, [400]],
  [`/api/v1/jobs?${again("a&", 7.9 * KB)}`, [400]],
  [`/api/v1/me?${again("a&", 199)}`, [400]],
  [`/livez?${again("a&", 7.9 * KB)}`, [400]],
  [`/?${again("a&", 199)}`, [200, 307]],
  [`/login?${again("a&", 199)}`, [200]],
  ["/api/v1/jobs?limit=200", [200]],
  ["/api/v1/events?limit=200", [200]],
  [`/api/v1/events?name=${again("a.", 190)}*`, [200, 400]],
  [`/api/v1/jobs/triggers?q=${LONG}&limit=200`, [200]],
  [`/api/v1/jobs/${NIL}/logs?after=${again("1", 7.9 * KB)}`, [400]],
  ["/api/v1/admin/jobs/definitions", [200, 403]],
  ["/api/v1/openapi.json", [200]],
  ["/docs/api", [200]],
  ["/docs/errors", [200]],
  [`/login?callbackUrl=${again("/%2e", 7.9 * KB)}`, [200, 400]],
  [`/${again("a/", 7.9 * KB)}`, [400, 404]],
];

/**
 * Statements that give the job $1 the maximum that attempts may leave behind, in the text that takes longest to mask.
 */
export const LEAVE_BEHIND: readonly string[] = [
  `insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, body)
   select id, n, seq, tenant_id, 'stdout', repeat('eyJ.', 8192)
   from app.jobs, generate_series(1, 4) n, generate_series(1, 305) seq where id = $1`,
  `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, worker_id, claimed_at, started_at,
     finished_at, error_text, stdout_tail, stderr_tail)
   select id, n, tenant_id, 1, 'failed', 'w', app.now(), app.now(), app.now(), repeat('eyJ.', 4096),
     repeat('eyJ.', 49152), repeat('eyJ.', 49152)
   from app.jobs, generate_series(1, 200) n where id = $1`,
  `insert into app.job_steps (job_id, run_no, name, tenant_id, attempt_no, result)
   select id, 1, 'step ' || n, tenant_id, 1, to_jsonb(repeat('eyJ.', 2500))
   from app.jobs, generate_series(1, 1000) n where id = $1`,
];

/** Statements that give 200 jobs of the tenant $1 errors, and an event many firings. */
export const LEAVE_ERRORS: readonly string[] = [
  `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, outcome, worker_id, claimed_at, run_started_at,
     finished_at, attempt_count, error_text)
   select id, 1, tenant_id, 1, 'failed', 'dead_letter', 'w', app.now(), app.now(), app.now(), 1, repeat(E'\\u0001eyJ.', 3276)
   from app.jobs j where tenant_id = $1 and not exists (select 1 from app.job_attempts a where a.job_id = j.id)
   order by id desc limit 200`,
  `with made as (
     insert into app.events (tenant_id, name, data, source, status) select $1, 'much.said', '{}', 'api', 'done' from generate_series(1, 200)
     returning id, tenant_id)
   insert into app.trigger_firings (tenant_id, trigger_id, event_id, kind, fire_at, outcome, reason, detail)
   select made.tenant_id, t.id, made.id, 'event', app.now(), 'failed',
     'definition_inactive', repeat(E'\\u0001', 2000) from made, (select id from app.job_triggers where tenant_id = $1 limit 20) t`,
];
/** Requests that list these jobs and events. */
export const LISTS: readonly string[] = [
  "jobs?limit=200",
  "jobs/dead-letters?limit=200",
  "events?limit=200&name=much.said",
  "jobs/triggers?limit=200",
];

/** Requests that read the output of a job. */
export const READS: readonly string[] = [
  "logs",
  "logs?limit=1000",
  "attempts?limit=200",
  "attempts?tails=true",
  "steps",
];
