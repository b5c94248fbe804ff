import { afterAll, describe, expect, test } from "vitest";
import { builtinDefinitions } from "@/jobs";
import { testDatabase } from "@/lib/testing/database";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { startReceiver } from "@/lib/webhooks/delivery/receiver.fixture";
import { startExample, startMailServer } from "./action-fixture";
import { queueFixture } from "./queue-fixture";

const HOOKS = "/api/v1/webhooks";
const ABSENT = "01890000-0000-7000-8000-000000000000";
const LOOPBACK = { WEBHOOK_LOOPBACK: "127.0.0.1:*", WEBHOOK_UNSAFE_IN_PRODUCTION: "true" };

const database = await testDatabase();
const fixture = await queueFixture(database, LOOPBACK);
const { web, make, acme, admin, key, foreignKey, get, define, expectProblem } = fixture;
const builtin = builtinDefinitions.find((one) => one.key === "deliver-webhook");
await define({ key: "deliver-webhook", executor: "webhook", arg_schema: builtin?.arg_schema, max_attempts: 8 });
const mail = await startMailServer();
await define({ key: "send-email", executor: "handler", max_attempts: 5 });
const MAIL = { SMTP_URL: mail.url, MAIL_FROM: "Leasehold <jobs@example.test>" };
await startProcess("worker", { database, env: { ...LOOPBACK, ...MAIL } });
const receiver = await startReceiver();
afterAll(() => Promise.all([receiver.close(), mail.close()]));

type Headers = Record<string, string>;
const post = (path: string, body: unknown = {}, headers: Headers = {}, as = key) =>
  web.call("POST", `${HOOKS}${path}`, { key: as, body, headers });
const patch = (id: string, body: unknown, headers: Headers = {}, as = key) =>
  web.call("PATCH", `${HOOKS}/${id}`, { key: as, body, headers });
const remove = (id: string, headers: Headers = {}, as = key) =>
  web.call("DELETE", `${HOOKS}/${id}`, { key: as, headers });

async function made(body: Record<string, unknown> = {}) {
  const answer = await post("", { url: receiver.url, ...body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}
const pointers = (answer: { body: { errors?: { pointer: string }[] } }) =>
  answer.body.errors?.map((one) => one.pointer);

describe("endpoints", () => {
  test("the secret is returned on creation and rotation only", async () => {
    const body = {
      url: receiver.url,
      description: "Orders",
      event_types: ["order.*"],
      headers: { "X-Env": "canary-value" },
    };
    const answer = await post("", body);
    expect([answer.status, answer.headers.get("etag")]).toEqual([201, '"1"']);
    const { id, secret, ...shown } = answer.body;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toMatchObject({
      tenant_id: acme.id,
      url: receiver.url,
      header_names: ["x-env"],
      is_enabled: true,
      version: 1,
    });
    expect(answer.headers.get("location")).toBe(`${HOOKS}/${id}`);
    const rotated = await post(`/${id}/rotate-secret`);
    expect([rotated.status, rotated.headers.get("etag"), rotated.body.version]).toEqual([200, '"2"', 2]);
    expect(rotated.body.secret).not.toBe(secret);
    expect(Date.parse(rotated.body.previous_secret_until) - Date.now()).toBeGreaterThan(23 * 3_600_000);
    const later = [
      await get(`${HOOKS}/${id}`),
      await get(HOOKS),
      await patch(id, { description: "x" }),
      await remove(id),
    ];
    for (const { status, text } of later) {
      expect(status).toBe(200);
      for (const canary of [secret, rotated.body.secret, "canary-value"]) expect(text).not.toContain(canary);
    }
    expect(web.log()).not.toContain("whsec_");
    expectProblem(await get(`${HOOKS}/${id}`), 404, "not-found");
    const audit = await database.query("select action from app.security_audit where object_id = $1 order by id", [id]);
    expect(audit.map(({ action }) => action)).toEqual([
      "webhook.created",
      "webhook.secret_rotated",
      "webhook.changed",
      "webhook.deleted",
    ]);
  });

  test("an idempotent replay returns no secret, and the stored answer contains none", async () => {
    const headers = { "idempotency-key": "make-an-endpoint" };
    const first = await post("", { url: receiver.url }, headers);
    const again = await post("", { url: receiver.url }, headers);
    expect(again.body).toEqual({ ...first.body, secret: "" });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const stored = await database.query(
      "select response_body from app.idempotency_keys where key = 'make-an-endpoint'",
    );
    expect(JSON.stringify(stored)).not.toContain("whsec_");
  });

  test("a change updates the named fields, null clears a field, and If-Match is enforced", async () => {
    const { id } = await made({ event_types: ["a"], headers: { "X-A": "1" } });
    expect((await patch(id, {})).body).toMatchObject({ event_types: ["a"], header_names: ["x-a"], version: 2 });
    const names = async (change: Record<string, unknown>) => (await patch(id, change)).body.header_names;
    expect(await names({ headers: { "X-B": "2" } })).toEqual(["x-b"]);
    expect(await names({ url: new URL("/elsewhere", receiver.url).href })).toEqual(["x-b"]);
    // Header values are never shown, so an endpoint that moves to another server loses them.
    expect(await names({ url: "http://127.0.0.1:9/" })).toEqual([]);
    const cleared = await patch(id, { url: receiver.url, headers: null, event_types: null });
    expect(cleared.body).toMatchObject({ header_names: [], event_types: null });
    expect((await patch(id, { is_enabled: false })).body).toMatchObject({
      is_enabled: false,
      disabled_reason: "manual",
    });
    expect((await patch(id, { is_enabled: true })).body).toMatchObject({
      is_enabled: true,
      disabled_reason: null,
      version: 8,
    });
    for (const tag of ['"7"', '"9"', 'W/"8"', "8", '""'])
      expectProblem(await patch(id, { description: "no" }, { "if-match": tag }), 412, "precondition-failed");
    expectProblem(await remove(id, { "if-match": '"5"' }), 412, "precondition-failed");
    expect((await patch(id, { description: "yes" }, { "if-match": '"5", "8"' })).status).toBe(200);
    expect((await remove(id, { "if-match": '"9"' })).status).toBe(200);
  });

  test.each([
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[::]/",
    "https://[fd00::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://2130706434/",
    "https://0x7f.2/",
    "https://0177.0.0.2/",
    "https://127.2/",
    "https://localhost./",
    "https://metadata.google.internal/",
    "https://no-such-name.invalid.test/",
    "http://93.184.215.14/",
    "https://93.184.215.14:22/",
    "https://user:pw@93.184.215.14/",
    "file:///etc/passwd",
  ])("WEBHOOK-01 %s is refused on creation and on change", async (url) => {
    for (const answer of [await post("", { url }), await patch((await made()).id, { url })]) {
      expectProblem(answer, 422, "validation-failed");
      expect(pointers(answer)).toEqual(["/url"]);
    }
  });

  test.each<[string, Record<string, string>, string]>([
    ["a line break", { X: "a\r\nY: b" }, "/headers/X"],
    ["a line break in a name", { "X-A\r\nY": "b" }, "/headers/X-A\r\nY"],
    ["Host", { Host: "evil" }, "/headers/Host"],
    ["Content-Length", { "Content-Length": "1" }, "/headers/Content-Length"],
    ["a hop-by-hop header", { "Transfer-Encoding": "chunked" }, "/headers/Transfer-Encoding"],
    ["one of ours", { "webhook-signature": "v1,x" }, "/headers/webhook-signature"],
    ["one of proxies", { "X-Forwarded-For": "10.0.0.1" }, "/headers/X-Forwarded-For"],
    ["a character that is not ASCII", { "X-A": "ü" }, "/headers/X-A"],
    ["64 kB", { "X-A": "x".repeat(65_536) }, "/headers/X-A"],
    ["a name twice", { "X-A": "1", "x-a": "2" }, "/headers/x-a"],
    ["a name with a slash", { "X/A": "1" }, "/headers/X~1A"],
  ])("WEBHOOK-11 a header with %s is refused", async (_what, headers, pointer) => {
    const answer = await post("", { url: receiver.url, headers });
    expectProblem(answer, 422, "validation-failed");
    expect(pointers(answer)).toContain(pointer);
  });

  test("unknown fields, wrong types, excess sizes and more endpoints than the limit are refused", async () => {
    for (const body of [
      {},
      { url: 1 },
      { url: receiver.url, secret: "x" },
      { url: receiver.url, event_types: [] },
      { url: receiver.url, event_types: ["a b"] },
    ])
      expectProblem(await post("", body), 422, "validation-failed");
    const other = await make.tenant("full");
    const { key: full } = await make.key(await make.user({ roles: { [other.id]: "admin" } }), { tenantId: other.id });
    await database.query(
      "insert into app.webhook_endpoints (tenant_id, url, secret) select $1, 'https://x.test', 'x' from generate_series(1, 100)",
      [other.id],
    );
    expectProblem(await post("", { url: receiver.url }, {}, full), 409, "conflict");
  });

  test("viewers get 403, keys need the scope, and another tenant's endpoint answers 404", async () => {
    const { id } = await made();
    const viewer = await make.user({ roles: { [acme.id]: "viewer" } });
    const cookie = await web.login(viewer);
    expectProblem(await web.call("GET", HOOKS, { cookie, tenant: "acme" }), 403, "forbidden");
    const { key: reading } = await make.key(admin, { tenantId: acme.id, scopes: ["webhooks:read"] });
    expect((await get(HOOKS, reading)).status).toBe(200);
    expectProblem(await post("", { url: receiver.url }, {}, reading), 403, "insufficient-scope");
    for (const id2 of [id, ABSENT]) {
      expectProblem(await get(`${HOOKS}/${id2}`, foreignKey), 404, "not-found");
      expectProblem(await get(`${HOOKS}/${id2}/deliveries`, foreignKey), 404, "not-found");
      expectProblem(await patch(id2, {}, {}, foreignKey), 404, "not-found");
      expectProblem(await remove(id2, {}, foreignKey), 404, "not-found");
      for (const verb of ["rotate-secret", "test", `deliveries/${ABSENT}/resend`])
        expectProblem(
          await post(`/${id2}/${verb}`, verb === "test" ? {} : undefined, {}, foreignKey),
          404,
          "not-found",
        );
    }
    expect((await get(HOOKS, foreignKey)).body.data).toEqual([]);
  });
});

describe("deliveries", () => {
  const deliveriesOf = async (id: string, query = "") => (await get(`${HOOKS}/${id}/deliveries${query}`)).body.data;
  const someDeliveries = (id: string, query = "") =>
    waitFor(async () => {
      const rows = await deliveriesOf(id, query);
      return rows.length > 0 && rows;
    });

  test("the example receiver accepts a test message as genuine", async () => {
    const endpoint = await made({ url: "http://127.0.0.1:1/" });
    const example = await startExample(endpoint.secret);
    await patch(endpoint.id, { url: example.url });
    const sent = await post(`/${endpoint.id}/test`, { type: "order.paid", data: { n: 17 } });
    expect([sent.status, sent.headers.get("location")]).toEqual([201, `/api/v1/jobs/${sent.body.job_id}`]);
    const line = await waitFor(() => example.lines().find(({ type }) => type === "order.paid"), { withinMs: 30_000 });
    expect(line).toMatchObject({ id: `msg_${sent.body.job_id}`, repeated: false, data: { n: 17 } });
    const [delivery] = await someDeliveries(endpoint.id);
    expect(delivery).toMatchObject({ status_code: 204, error_code: null, job_id: sent.body.job_id, attempt_no: 1 });
    const again = await post(`/${endpoint.id}/deliveries/${delivery.id}/resend`);
    expect(again.status).toBe(201);
    expect(again.body.job_id).not.toBe(sent.body.job_id);
    const repeated = await waitFor(() => example.lines().find((one) => one.repeated), { withinMs: 30_000 });
    expect(repeated).toMatchObject({ id: line.id, timestamp: line.timestamp, data: line.data });
    await waitFor(async () => (await deliveriesOf(endpoint.id)).length === 2);
    expect((await get(`${HOOKS}/${endpoint.id}`)).body.last_delivery).toMatchObject({ status_code: 204 });
    await post(`/${endpoint.id}/rotate-secret`);
    await database.query("update app.webhook_endpoints set previous_secret_until = app.now() where id = $1", [
      endpoint.id,
    ]);
    await post(`/${endpoint.id}/test`);
    await waitFor(() => example.lines().find((one) => one.refused !== undefined), { withinMs: 30_000 });
    const [failed] = await someDeliveries(endpoint.id, "?outcome=failed");
    expect(failed).toMatchObject({
      status_code: 401,
      error_code: "http_status",
      response: "the signature does not fit",
    });
    expect((await get(`${HOOKS}/${endpoint.id}`)).body.failing_since).not.toBeNull();
  });

  test("deliveries have pages and filters, and a delivery that cannot be resent is refused", async () => {
    const { id } = await made();
    for (let n = 0; n < 3; n += 1) expect((await post(`/${id}/test`)).status).toBe(201);
    await waitFor(async () => (await deliveriesOf(id)).length === 3, { withinMs: 30_000 });
    const first = (await get(`${HOOKS}/${id}/deliveries?limit=2`)).body;
    expect(first.pagination).toMatchObject({ total: 3, has_more: true });
    const rest = (await get(`${HOOKS}/${id}/deliveries?limit=2&cursor=${first.pagination.next_cursor}`)).body;
    expect(new Set([...first.data, ...rest.data].map((one) => one.id)).size).toBe(3);
    expect(await deliveriesOf(id, "?outcome=failed")).toEqual([]);
    expect(await deliveriesOf(id, `?job_id=${first.data[0].job_id}`)).toHaveLength(1);
    expectProblem(await get(`${HOOKS}/${id}/deliveries?outcome=odd`), 400, "invalid-query");
    const resend = `/${id}/deliveries/${first.data[0].id}/resend`;
    await patch(id, { is_enabled: false });
    for (const path of [resend, `/${id}/test`]) expectProblem(await post(path), 409, "conflict");
    await patch(id, { is_enabled: true });
    const other = await made();
    expectProblem(await post(`/${other.id}/deliveries/${first.data[0].id}/resend`), 404, "not-found");
  });

  test("WEBHOOK-10 a webhook message posted to Leasehold's own API creates no job", async () => {
    const own = { url: `${web.url}/api/v1/jobs`, headers: { Authorization: `Bearer ${key}` } };
    const { id } = await made(own);
    const sent = await post(`/${id}/test`, { type: "loop", data: { definition_key: "any" } });
    const jobs = await fixture.jobCount();
    const [delivery] = await someDeliveries(id);
    expect(delivery).toMatchObject({ status_code: 422, error_code: "http_status", job_id: sent.body.job_id });
    expect(await fixture.jobCount()).toBe(jobs);
  });

  test("the same Idempotency-Key sends one message", async () => {
    const { id } = await made();
    const headers = { "idempotency-key": "send-once" };
    const [one, two] = [await post(`/${id}/test`, {}, headers), await post(`/${id}/test`, {}, headers)];
    expect(two.body).toEqual(one.body);
    await waitFor(async () => (await deliveriesOf(id)).length === 1, { withinMs: 30_000 });
  });
});

test("F-02 an e-mail is a job that a worker sends once, with the job's id", async () => {
  const payload = { to: "ada@example.test", subject: "Paid", text: "Thank you." };
  const { id } = await fixture.enqueue({ definition_key: "send-email", payload });
  const job = await waitFor(
    async () => {
      const { body } = await get(`/api/v1/jobs/${id}`);
      return body.finished_at !== null && body;
    },
    { withinMs: 30_000 },
  );
  expect(job).toMatchObject({ status: "succeeded", result: { accepted: ["ada@example.test"], rejected: [] } });
  expect(mail.mails).toEqual([expect.stringContaining(`Message-ID: <${id}@example.test>`)]);
});
