import { afterAll, describe, expect, test } from "vitest";
import { API_KEY_SCOPES, type ApiKeyScope, apiKeyScope, type TenantPermission } from "@/lib/contract";
import { SYSTEM } from "@/lib/queue/testing";
import { permissionsOf } from "@/lib/tenancy/permissions";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { makeFactory } from "@/lib/testing/rows/factories";
import { CANARIES, LOOPBACK, type RouteRequest, requestsIn, TENANT_ROUTES } from "./requests.fixture";
import { routeRuleOf } from "./routes";
import { routesOn } from "./routes.fixture";

const database = await testDatabase();
const make = makeFactory(database);
const accounts = accountsIn(database);
const call = routesOn(database, LOOPBACK);
afterAll(() => make.close());
await make.definition({ key: "plain" });
await make.definition({ key: "deliver-webhook", executor: "webhook" });

async function tenantWith(slug: string) {
  const { id } = await accounts.tenant(slug);
  const admin = await accounts.user({ roles: { [id]: "admin" } });
  const member = await accounts.user({ roles: { [id]: "member" } });
  const { key } = await accounts.key(admin, { tenantId: id });
  const keyOf = async (...scopes: ApiKeyScope[]) => (await accounts.key(admin, { tenantId: id, scopes })).key;
  return { id, scope: { tenantId: id, actor: SYSTEM }, admin, member, key, keyOf };
}

const named = ({ method, path }: RouteRequest) => `${method} ${path}`;
const needs = ({ method, path }: RouteRequest): readonly string[] => {
  const { access, also = [] } = routeRuleOf(method, path.replace(/\[\w+\]/g, "x"));
  return [access, ...also];
};

describe("a key of one scope", () => {
  const scopes = API_KEY_SCOPES.filter((scope) => !scope.startsWith("platform:"));

  test.each(scopes)(
    "%s: allows what the table of routes says, and no answer contains what the key may not read",
    async (scope) => {
      const { scope: tenant, key, keyOf } = await tenantWith(`one-${scope.replace(":", "-")}`);
      const { requests, holder } = await requestsIn(make, { scope: tenant, call, key });
      expect(new Set(requests.map(named))).toEqual(new Set(TENANT_ROUTES));
      const held: readonly string[] = permissionsOf("admin", { kind: "tenant", scopes: [scope] });
      const narrow = await keyOf(scope);
      for (const request of requests) {
        const mayAsk = needs(request).every((permission) => held.includes(permission));
        const answer = await call(request.method, request.path, { ...request, key: narrow });
        const text = `${named(request)}: ${answer.status} ${answer.text}`;
        if (mayAsk) expect(answer.status === 404 ? /resend|firings/.test(text) : answer.status < 300, text).toBe(true);
        else {
          expect([answer.status, answer.body?.code], text).toEqual([403, "insufficient-scope"]);
          const wanted = apiKeyScope
            .array()
            .parse(/needs the scope (.+)\.$/.exec(answer.body.detail)?.[1]?.split(" or "));
          const missing = needs(request).filter((permission) => !held.includes(permission));
          const given = (one: ApiKeyScope): readonly string[] =>
            permissionsOf("admin", { kind: "tenant", scopes: [one] });
          for (const one of wanted) expect(given(one), text).toEqual(expect.arrayContaining(missing.slice(0, 1)));
        }
        for (const [permission, canary] of Object.entries(CANARIES))
          if (!held.includes(permission)) expect(text).not.toMatch(canary);
        if (!held.some((permission) => permission.startsWith("jobs:"))) expect(text).not.toContain(holder);
      }
    },
  );

  test("the same answers contain the canaries for a key that may read them", async () => {
    const { scope, key } = await tenantWith("whole");
    const { requests, holder } = await requestsIn(make, { scope, call, key });
    const texts: string[] = [];
    for (const request of requests) texts.push((await call(request.method, request.path, { ...request, key })).text);
    const all = texts.join("\n");
    for (const canary of ["payload", "metadata", "tag", "error", "note", "template", "label", "event", "host"])
      expect(all).toContain(`canary-${canary}`);
    expect(texts[requests.findIndex((one) => named(one).endsWith("triggers/test"))]).toContain(holder);
  });
});

describe("additional rights that a body requires", () => {
  test("a filter and another job's result require the right to read jobs; changing a dedupe key's holder requires the right to change them", async () => {
    const { scope, keyOf } = await tenantWith("bodies");
    const { id } = await make.job(scope, { definitionKey: "plain" });
    const [writes, creates] = [await keyOf("jobs:write"), await keyOf("jobs:create")];
    const post = async (key: string, path: string, body: unknown) => (await call("POST", path, { key, body })).status;
    expect(await post(writes, "/api/v1/jobs/actions", { action: "cancel", filter: {}, dry_run: true })).toBe(403);
    expect(await post(writes, "/api/v1/jobs/dead-letters/redrive", { all: true, dry_run: true })).toBe(403);
    const waits = (edge: object) => ({ definition_key: "plain", depends_on: [{ job_id: id, ...edge }] });
    const condition = { path: "a", op: "exists" };
    expect(await post(writes, "/api/v1/jobs", waits({ type: "conditional", condition }))).toBe(403);
    expect(await post(writes, "/api/v1/jobs/bulk", { jobs: [waits({ type: "data", as: "a" })] })).toBe(403);
    expect(await post(writes, "/api/v1/jobs", waits({}))).toBe(201);
    const byRef = (edge: object, key?: string) => ({
      jobs: [
        { ref: "x", definition_key: "plain", ...(key === undefined ? {} : { dedupe_key: key }) },
        { definition_key: "plain", depends_on: [{ ref: "x", ...edge }] },
      ],
    });
    for (const edge of [{ type: "conditional", condition }, { type: "data" }])
      expect(await post(writes, "/api/v1/jobs/bulk", byRef(edge, "invoice"))).toBe(403);
    expect(await post(writes, "/api/v1/jobs/bulk", byRef({}, "invoice"))).toBe(201);
    expect(await post(writes, "/api/v1/jobs/bulk", byRef({ type: "data" }))).toBe(201);
    const takes = { definition_key: "plain", dedupe_key: "k", dedupe: { on_conflict: "replace_payload" } };
    expect(await post(creates, "/api/v1/jobs", takes)).toBe(403);
    expect(await post(writes, "/api/v1/jobs", takes)).toBe(201);
  });
});

describe("job results in events", () => {
  test("are shown and tested only for callers who may read jobs", async () => {
    const { id, key, keyOf } = await tenantWith("ends");
    const [event] = await database.query<{ id: string }>(
      `insert into app.events (id, tenant_id, name, data, source, correlation_id, actor_kind, status)
       values (app.new_id(), $1, 'job.succeeded', '{"result": "canary-result"}', 'job', 'c', 'system', 'done') returning id`,
      [id],
    );
    const read = (who: string) =>
      call("GET", "/api/v1/events/[eventId]", { key: who, params: { eventId: event?.id ?? "" } });
    const draft = { event_name: "job.succeeded", payload_template: "{{event.result}}" };
    const replay = (who: string) =>
      call("POST", "/api/v1/jobs/triggers/test", { key: who, body: { replay: 1, draft } });
    for (const ask of [read, replay]) expect((await ask(key)).text).toContain("canary-result");
    const narrow = await keyOf("events:read", "triggers:read");
    expect((await read(narrow)).body).toMatchObject({ name: "job.succeeded", data: {} });
    expect((await replay(narrow)).body.code).toBe("insufficient-scope");
  });
});

describe("sending a signed message requires the right to webhooks", () => {
  const message = (endpoint_id: string) => ({ endpoint_id, type: "forged", data: 1, message_id: "msg_1" });

  test("enqueue, bulk, edited retry and triggers are refused without it; stored triggers still start their jobs", async () => {
    const { member, key, keyOf, id } = await tenantWith("signed");
    const made = await call("POST", "/api/v1/webhooks", { key, body: { url: "http://127.0.0.1:9/" } });
    const payload = message(made.body.id);
    const job = { definition_key: "deliver-webhook", payload };
    const trigger = {
      trigger_type: "event",
      event_name: "paid",
      label: "tell",
      definition_key: "deliver-webhook",
      payload_template: payload,
    };
    const sent = await call("POST", "/api/v1/jobs", { key, body: job });
    expect(sent.status, sent.text).toBe(201);
    await call("POST", "/api/v1/jobs/[jobId]/cancel", { key, params: { jobId: sent.body.id }, body: {} });
    const stored = await call("POST", "/api/v1/jobs/triggers", { key, body: trigger });
    expect(stored.status, stored.text).toBe(201);
    const attempts: [string, string, Record<string, string>, unknown][] = [
      ["POST", "/api/v1/jobs", {}, job],
      ["POST", "/api/v1/jobs/bulk", {}, { jobs: [job, job] }],
      ["POST", "/api/v1/jobs/[jobId]/retry", { jobId: sent.body.id }, { payload }],
      ["POST", "/api/v1/jobs/triggers", {}, trigger],
      ["PATCH", "/api/v1/jobs/triggers/[triggerId]", { triggerId: stored.body.id }, { is_enabled: true }],
      ["POST", "/api/v1/jobs/triggers/[triggerId]/run", { triggerId: stored.body.id }, {}],
    ];
    const without = await keyOf("jobs:read", "jobs:write", "triggers:write");
    const { key: ofMember } = await accounts.key(member, { tenantId: id });
    for (const [method, path, params, body] of attempts) {
      const ask = async (who: string) => (await call(method as "POST", path, { key: who, params, body })).body.code;
      expect([await ask(without), await ask(ofMember)], path).toEqual(["insufficient-scope", "forbidden"]);
    }
    const publishes = await keyOf("jobs:create", "events:write");
    const event = await call("POST", "/api/v1/events", { key: publishes, body: { name: "paid" } });
    expect([event.status, event.body.started_count]).toEqual([201, 1]);
  });

  test("a trigger on job.* events is saved only with jobs:read, whatever the change", async () => {
    const { key, keyOf } = await tenantWith("listening");
    const without = await keyOf("jobs:create", "triggers:read", "triggers:write");
    const trigger = { trigger_type: "event", event_name: "paid", label: "hear", definition_key: "plain" };
    const ofJobs = { ...trigger, event_name: "job.succeeded", condition: 'event.result.token.startsWith("k")' };
    const own = await call("POST", "/api/v1/jobs/triggers", { key: without, body: trigger });
    const stored = await call("POST", "/api/v1/jobs/triggers", { key, body: ofJobs });
    expect([own.status, stored.status]).toEqual([201, 201]);
    const change = (triggerId: string, body: unknown) =>
      call("PATCH", "/api/v1/jobs/triggers/[triggerId]", { key: without, params: { triggerId }, body });
    const refused = [
      await call("POST", "/api/v1/jobs/triggers", { key: without, body: ofJobs }),
      await change(own.body.id, { event_name: "job.dead_letter" }),
      await change(stored.body.id, { condition: "true" }),
      await change(stored.body.id, { is_enabled: false }),
      await change(stored.body.id, { event_name: "paid" }),
    ];
    expect(refused.map(({ body }) => body.code)).toEqual(Array(5).fill("insufficient-scope"));
    expect((await change(own.body.id, { condition: "true" })).status).toBe(200);
  });

  test("a member can read webhooks and cannot change them", async () => {
    const { member, id } = await tenantWith("member");
    const { key } = await accounts.key(member, { tenantId: id });
    expect((await call("GET", "/api/v1/webhooks", { key })).status).toBe(200);
    const refused = await call("POST", "/api/v1/webhooks", { key, body: { url: "http://127.0.0.1:9/" } });
    expect([refused.status, refused.body.code]).toEqual([403, "forbidden"]);
    expect(permissionsOf("admin", null)).toContain<TenantPermission>("webhooks:write");
  });
});

describe("a suspended tenant", () => {
  const rows = async (tenantId: string) => {
    const count = (table: string) => `(select count(*)::int from app.${table} where tenant_id = $1) as ${table}`;
    const tables = ["jobs", "events", "job_triggers", "webhook_endpoints", "bulk_actions", "job_audit"];
    return (await database.query(`select ${tables.map(count).join(", ")}`, [tenantId]))[0];
  };

  test("allows reads; refuses every change with the reason", async () => {
    const { id, scope, key, admin } = await tenantWith("suspended");
    const { requests } = await requestsIn(make, { scope, call, key });
    await database.query("update app.tenants set status = 'suspended' where id = $1", [id]);
    const before = await rows(id);
    for (const request of requests) {
      const { status, body, text } = await call(request.method, request.path, { ...request, key });
      if (request.method === "GET") expect(status, text).toBeLessThan(300);
      else
        expect([status, body.code, body.detail], named(request)).toEqual([403, "tenant-suspended", expect.any(String)]);
    }
    expect(await rows(id)).toEqual(before);
    const me = await call("GET", "/api/v1/me", { key });
    expect([me.status, me.body.tenants[0].status, me.body.user.id]).toEqual([200, "suspended", admin.id]);
  });

  test("its worker key claims nothing and can end the jobs it holds", async () => {
    const { id } = await tenantWith("worker");
    const { key } = await accounts.key(await accounts.user({ superAdmin: true }), { kind: "worker", tenantId: id });
    await database.query("update app.tenants set status = 'suspended' where id = $1", [id]);
    const claim = { worker: { name: "w1" }, definitions: ["none"] };
    const refused = await call("POST", "/api/v1/worker/jobs/claim", { key, body: claim });
    expect([refused.status, refused.body.code]).toEqual([403, "tenant-suspended"]);
    const ends = {
      complete: { lease_no: 1 },
      fail: { lease_no: 1, error: { message: "no" } },
      heartbeat: { lease_no: 1 },
    };
    for (const [verb, body] of Object.entries(ends)) {
      const path = `/api/v1/worker/jobs/[jobId]/${verb}`;
      const answer = await call("POST", path, { key, params: { jobId: id }, body });
      expect(answer.body.code, answer.text).not.toBe("tenant-suspended");
      expect(answer.status).not.toBe(403);
    }
  });
});
