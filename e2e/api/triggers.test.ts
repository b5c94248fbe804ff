import { describe, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { cron, refusal, TRIGGERS, triggerFixture } from "./trigger-fixture";

const database = await testDatabase();
const { web, make, acme, admin, key, foreignKey, get, post, patch, run, preview, made } =
  await triggerFixture(database);

describe("making triggers", () => {
  test("an event trigger accepts exactly the fields of its type", async () => {
    const body = {
      label: "Resync on folder change",
      trigger_type: "event",
      event_name: "provider.folder.updated",
      definition_key: "strict",
      payload_template: { provider_id: "{{event.provider_id}}", path_prefix: "{{event.folder_path}}" },
      dedupe_window_seconds: 120,
    };
    const answer = await post(body);
    expect([answer.status, answer.headers.get("etag")]).toEqual([201, '"1"']);
    expect(answer.body).toMatchObject({ ...body, tenant_id: acme.id, is_enabled: true, next_run_at: null, version: 1 });
    expect(answer.headers.get("location")).toBe(`${TRIGGERS}/${answer.body.id}`);
    const read = await get(`${TRIGGERS}/${answer.body.id}`);
    expect([read.body, read.headers.get("etag")]).toEqual([answer.body, '"1"']);
  });

  test("a schedule trigger returns its schedule in words and its next run", async () => {
    const body = cron("0 2 * * *");
    const trigger = await made(body);
    expect(trigger).toMatchObject({ ...body, schedule_type: "cron", dedupe_window_seconds: 300, status: "active" });
    expect(Date.parse(trigger.next_run_at)).toBeGreaterThan(Date.now() - 60_000);
    expect(trigger.description).toMatch(/02:00/);
  });

  test("the same Idempotency-Key creates one trigger", async () => {
    const headers = { "idempotency-key": "one-trigger" };
    const [first, second] = [await post(cron("5 5 * * *"), headers), await post(cron("5 5 * * *"), headers)];
    expect([second.status, second.body, second.headers.get("etag")]).toEqual([201, first.body, '"1"']);
    const [row] = await database.query("select count(*)::int as n from app.job_triggers where cron_expr = '5 5 * * *'");
    expect(row?.n).toBe(1);
  });

  test.each<[string, Record<string, unknown>, string[]]>([
    ["an unknown field", cron("0 2 * * *", { crontab: "x" }), ["/crontab"]],
    ["an unknown kind", cron("0 2 * * *", { trigger_type: "webhook" }), ["/trigger_type"]],
    ["a nested unknown field", cron("0 2 * * *", { dst_policy: { gap: "skip", x: 1 } }), ["/dst_policy/x"]],
    ["a window out of bounds", cron("0 2 * * *", { dedupe_window_seconds: -1 }), ["/dedupe_window_seconds"]],
    [
      "a template with a fault",
      cron("0 2 * * *", { payload_template: { a: { b: "{{x" } } }),
      ["/payload_template/a/b"],
    ],
    ["a payload that does not fit", cron("0 2 * * *", { definition_key: "strict" }), ["/payload_template/provider_id"]],
    ["an unknown definition", cron("0 2 * * *", { definition_key: "gone" }), ["/definition_key"]],
    ["a NUL in the template", cron("0 2 * * *", { payload_template: { a: "x\u0000" } }), ["/payload_template/a"]],
  ])("%s is refused with a pointer", async (_what, body, pointers) => {
    expect(refusal(await post(body))).toEqual(pointers);
  });

  test("a condition that does not parse is refused", async () => {
    const event = { label: "x", trigger_type: "event", event_name: "a.b", definition_key: "any" };
    expect(refusal(await post({ ...event, condition: "event.a +" }))).toEqual(["/condition"]);
    expect((await made({ ...event, condition: "event.a == 1" })).condition).toBe("event.a == 1");
  });
});

describe("expressions and zones at this door", () => {
  // Real time, because a refusal must be immediate: 100 ms, and ten times that on a busy machine.
  test("CRON-21 impossible dates are refused within a second, in a new trigger, a change and a preview", async () => {
    const { id } = await made();
    for (const expr of ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,9 *"]) {
      for (const ask of [
        () => post(cron(expr)),
        () => patch(id, { cron_expr: expr }),
        () => preview({ cron_expr: expr }),
      ]) {
        const start = performance.now();
        expect(refusal(await ask())).toEqual(["/cron_expr"]);
        expect(performance.now() - start).toBeLessThan(1000);
      }
    }
    expect((await get(`${TRIGGERS}/${id}`)).body.cron_expr).toBe("0 2 * * *");
  });

  test.each([
    ["CRON-25", ["* 10 5 * * *", "0 0 12 * * ? 2027", "* * * *", "", "* ".repeat(200)]],
    ["CRON-26", ["@reboot", "@every 5m", "@Hourly"]],
    ["CRON-33", ["０ 9 * * *", "0\u00a09 * * *", "0 9 * * *\n* * * * *"]],
  ])("%s an invalid expression is refused", async (_case, exprs) => {
    for (const expr of exprs) expect(refusal(await post(cron(expr))), expr).toEqual(["/cron_expr"]);
  });

  test("CRON-26 CRON-33 the documented aliases and extra blanks are accepted", async () => {
    for (const alias of ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"])
      expect((await preview({ cron_expr: alias, count: 1 })).body.occurrences, alias).toHaveLength(1);
    expect((await preview({ cron_expr: "  0   9 * * *  " })).status).toBe(200);
  });

  test("CRON-28 a range that wraps around is refused or matches the days it names", async () => {
    for (const expr of ["0 22-2 * * *", "0 9 * * 5-1", "0 9 * * FRI-MON", "58-2/2 * * * *"]) {
      const answer = await preview({ cron_expr: expr, count: 60, after: "2026-01-01T00:00:00Z", timezone: "UTC" });
      if (answer.status === 422) expect(refusal(answer)).toEqual(["/cron_expr"]);
      else {
        const days = new Set(answer.body.occurrences.map(({ at }: { at: string }) => new Date(at).getUTCDay()));
        expect(expr.startsWith("0 9") ? [...days].sort() : "not the days").toEqual(
          expr.startsWith("0 9") ? [0, 1, 5, 6] : "not the days",
        );
      }
    }
  });

  test("CRON-30 zones are IANA names, stored as they were sent", async () => {
    for (const timezone of ["GMT+5", "europe/berlin", "Mars/Base", "", "../etc/passwd", "CST"])
      expect(refusal(await post(cron("0 2 * * *", { timezone }))), timezone).toEqual(["/timezone"]);
    for (const timezone of ["Europe/Kyiv", "US/Pacific", "Etc/GMT+5"])
      expect((await made(cron("0 2 * * *", { timezone }))).timezone).toBe(timezone);
  });
});

test("a preview describes a schedule in words and lists its next instants", async () => {
  const after = "2026-03-07T12:00:00Z";
  const answer = await preview({ cron_expr: "30 2 * * *", timezone: "America/New_York", after, count: 3 });
  expect(answer.status, answer.text).toBe(200);
  const { description, occurrences, warnings } = answer.body;
  expect(occurrences.map(({ at }: { at: string }) => at)).toEqual([
    "2026-03-08T07:00:00.000Z",
    "2026-03-09T06:30:00.000Z",
    "2026-03-10T06:30:00.000Z",
  ]);
  expect(occurrences[0]).toMatchObject({ local: expect.stringContaining("03:00:00-04:00"), note: expect.any(String) });
  expect([occurrences[1].note, warnings, description]).toEqual([null, [], expect.stringContaining("02:30")]);
  const ten = await preview({ cron_expr: "0 0 * * *", after });
  expect(ten.body.occurrences).toHaveLength(10);
  const often = await preview({ interval_ms: 5000, anchor_at: after, after, count: 2 });
  expect(often.body.warnings).toEqual(["too_often"]);
  const never = await preview({ cron_expr: "0 0 1 1 *", after, expires_at: "2026-04-01T00:00:00Z" });
  expect(never.body).toMatchObject({ occurrences: [], warnings: ["never"] });
  for (const [body, pointer] of [
    [{ cron_expr: "* * * * *", count: 101 }, "/count"],
    [{ cron_expr: "* * * * *", after: "yesterday" }, "/after"],
    [{ cron: "* * * * *" }, "/cron"],
    [{}, "/cron_expr"],
  ] as const)
    expect(refusal(await preview(body))).toContain(pointer);
});

describe("changing triggers", () => {
  test("omitted fields stay unchanged, and null clears a value", async () => {
    const { id } = await made(cron("0 2 * * *", { priority: 7, max_runs: 5 }));
    const renamed = await patch(id, { label: "other" });
    expect([renamed.status, renamed.headers.get("etag")]).toEqual([200, '"2"']);
    expect(renamed.body).toMatchObject({ label: "other", priority: 7, max_runs: 5, cron_expr: "0 2 * * *" });
    const emptied = await patch(id, { priority: null, max_runs: null, timezone: null });
    expect(emptied.body).toMatchObject({ priority: null, max_runs: null, timezone: "UTC" });
    for (const [body, pointer] of [
      [{ trigger_type: "event", label: "x" }, "/trigger_type"],
      [{ label: null }, "/label"],
      [{ is_enabled: "no" }, "/is_enabled"],
      [{ next_run_at: "2026-01-01T00:00:00Z", label: "x" }, "/next_run_at"],
      [{}, ""],
    ] as const)
      expect(refusal(await patch(id, body))).toEqual([pointer]);
  });

  test("SCHED-20 changing the cron expression moves the next run, disabling clears it", async () => {
    const { id } = await made(cron("0 0 1 1 *"));
    const { next_run_at } = (await patch(id, { cron_expr: "* * * * *" })).body;
    expect(Date.parse(next_run_at) - Date.now()).toBeLessThan(5 * 60_000);
    expect((await patch(id, { is_enabled: false })).body).toMatchObject({ is_enabled: false, next_run_at: null });
  });

  test("of two admins who edit one trigger, the later one gets 412 and overwrites nothing", async () => {
    const { id } = await made();
    const path = `${TRIGGERS}/${id}`;
    const etag = (await get(path)).headers.get("etag") ?? "";
    const first = await patch(id, { label: "of the first" }, { "if-match": etag });
    expect(first.status).toBe(200);
    for (const stale of [etag, 'W/"2"', '"no such"', "2"]) {
      const late = await patch(id, { label: "of the second" }, { "if-match": stale });
      expect([late.status, late.body.code], stale).toEqual([412, "precondition-failed"]);
      const gone = await web.call("DELETE", path, { key, headers: { "if-match": stale } });
      expect(gone.status).toBe(412);
    }
    expect((await get(path)).body.label).toBe("of the first");
    for (const fresh of ['"2"', '"9", "3"', "*"])
      expect((await patch(id, { label: "again" }, { "if-match": fresh })).status, fresh).toBe(200);
  });

  test("deleting a trigger keeps its jobs", async () => {
    const { id } = await made();
    const { body } = await run(id);
    expect((await web.call("DELETE", `${TRIGGERS}/${id}`, { key })).status).toBe(200);
    for (const answer of [
      await get(`${TRIGGERS}/${id}`),
      await get(`${TRIGGERS}/${id}/firings`),
      await patch(id, { label: "x" }),
      await run(id),
      await web.call("DELETE", `${TRIGGERS}/${id}`, { key }),
    ])
      expect([answer.status, answer.body.code]).toEqual([404, "not-found"]);
    expect((await get(`/api/v1/jobs/${body.job.id}`)).body.status).toBe("queued");
  });
});

test("running a trigger manually enqueues a job at once, with another payload if one is sent", async () => {
  const { id } = await made(cron("0 2 * * *", { payload_template: { at: "{{schedule.at}}" }, is_enabled: false }));
  const plain = await run(id);
  expect([plain.status, plain.headers.get("location")]).toEqual([201, `/api/v1/jobs/${plain.body.job.id}`]);
  expect(plain.body.job).toMatchObject({ source: "manual", source_ref: id, definition_key: "any" });
  expect(Object.keys(plain.body.job.payload)).toEqual(["at"]);
  expect(plain.body.firing).toMatchObject({
    trigger_id: id,
    kind: "manual",
    outcome: "enqueued",
    job_status: "queued",
  });
  const other = await run(id, { payload: { b: 2 } }, { "idempotency-key": "run-once" });
  expect(other.body.job.payload).toEqual({ b: 2 });
  expect((await run(id, { payload: { b: 2 } }, { "idempotency-key": "run-once" })).body).toEqual(other.body);
  expect(refusal(await run(id, { payload: 1, event: {} }))).toEqual(["/event"]);
  const page = (await get(`${TRIGGERS}/${id}/firings?limit=1`)).body;
  expect([page.data[0].job_id, page.pagination.has_more]).toEqual([other.body.job.id, true]);
  const cursor = encodeURIComponent(page.pagination.next_cursor);
  const rest = (await get(`${TRIGGERS}/${id}/firings?limit=1&cursor=${cursor}`)).body;
  expect(rest).toMatchObject({
    data: [{ job_id: plain.body.job.id }],
    pagination: { has_more: false, next_cursor: null },
  });
  const { id: second } = await made();
  expect((await get(`${TRIGGERS}/${second}/firings?cursor=${cursor}`)).body.code).toBe("invalid-cursor");
});

test("the list supports filters and pages, and shows the outcomes of firings", async () => {
  const { id } = await made(cron("0 2 * * *", { label: "Findable", is_enabled: false }));
  await run(id);
  const found = (await get(`${TRIGGERS}?q=findable&is_enabled=false&trigger_type=schedule&definition_key=any`)).body;
  expect(found.pagination).toMatchObject({ total: 1, has_more: false });
  expect(found.data).toMatchObject([
    { id, recent_outcomes: { enqueued: 1, skipped: 0 }, recent_firings: [{ outcome: "enqueued" }], missed_count: 0 },
  ]);
  const all = (await get(`${TRIGGERS}?limit=2`)).body;
  const next = (await get(`${TRIGGERS}?limit=2&cursor=${encodeURIComponent(all.pagination.next_cursor)}`)).body;
  expect(next.data.map((row: { id: string }) => row.id)).not.toContain(all.data[1].id);
  for (const query of ["is_enabled=1", "status=odd", "x=1"])
    expect((await get(`${TRIGGERS}?${query}`)).body.code).toBe("invalid-query");
});

test("another tenant's triggers answer like absent ones", async () => {
  const { id } = await made();
  for (const at of [id, "01890000-0000-7000-8000-000000000000"]) {
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["PATCH", "", { label: "mine" }],
      ["DELETE", "", undefined],
      ["GET", "/firings", undefined],
      ["POST", "/run", {}],
    ] as const) {
      const answer = await web.call(method, `${TRIGGERS}/${at}${path}`, { key: foreignKey, body });
      expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([404, "not-found"]);
    }
  }
  expect((await get(TRIGGERS, foreignKey)).body.data).toEqual([]);
});

test("a viewer can read triggers, a member can write them, and a key needs the scope", async () => {
  const { id } = await made();
  const [viewer, member] = [
    await make.user({ roles: { [acme.id]: "viewer" } }),
    await make.user({ roles: { [acme.id]: "member" } }),
  ];
  const [reads, works] = [await web.login(viewer), await web.login(member)];
  const call = (cookie: string, method: string, path: string, body?: unknown) =>
    web.call(method, TRIGGERS + path, { cookie, tenant: "acme", body });
  expect((await call(reads, "GET", `/${id}`)).status).toBe(200);
  expect((await call(reads, "POST", "/preview", { cron_expr: "* * * * *" })).status).toBe(200);
  for (const [method, path, body] of [
    ["POST", "", cron("* * * * *")],
    ["PATCH", `/${id}`, { label: "x" }],
    ["POST", `/${id}/run`, {}],
    ["DELETE", `/${id}`, undefined],
  ] as const) {
    const answer = await call(reads, method, path, body);
    expect([answer.status, answer.body.code], method).toEqual([403, "forbidden"]);
  }
  expect((await call(works, "PATCH", `/${id}`, { label: "of the member" })).body.label).toBe("of the member");
  const { key: jobsOnly } = await make.key(admin, { tenantId: acme.id, scopes: ["jobs:read", "jobs:write"] });
  const { key: reader } = await make.key(admin, { tenantId: acme.id, scopes: ["triggers:read"] });
  expect((await get(TRIGGERS, jobsOnly)).body.code).toBe("insufficient-scope");
  expect((await get(TRIGGERS, reader)).status).toBe(200);
  expect((await post(cron("* * * * *"), {}, reader)).body.code).toBe("insufficient-scope");
});

test("SCHED-23 no trigger can be created in a suspended tenant", async () => {
  const { id } = await made();
  await database.query("update app.tenants set status = 'suspended' where id = $1", [acme.id]);
  for (const answer of [await post(cron("* * * * *")), await patch(id, { label: "x" })])
    expect([answer.status, answer.body.code]).toEqual([403, "tenant-suspended"]);
  await database.query("update app.tenants set status = 'active' where id = $1", [acme.id]);
  expect((await patch(id, { label: "x" })).status).toBe(200);
});
