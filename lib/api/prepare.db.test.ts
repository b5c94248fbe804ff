import { expect, test } from "vitest";
import { guardTransactions } from "@/lib/db/network-guard";
import { testDatabase } from "@/lib/testing/database";
import { patiently } from "@/lib/testing/patiently";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { makeFactory } from "@/lib/testing/rows/factories";
import { whenDone } from "@/lib/testing/when-done";
import { startNameServer } from "@/lib/webhooks/delivery/name-server.fixture";
import { routesOn } from "./routes.fixture";

const names = await startNameServer({ "*.example.com": "silence", "fine.example.org": [["93.184.216.34"]] });
const database = await testDatabase();
const make = makeFactory(database);
whenDone(async () => {
  names.close();
  await make.close();
});
const accounts = accountsIn(database);
const call = routesOn(database, { allowHttp: false, loopback: [], nameServers: [names.address] });
await make.definition({ key: "plain" });
const acme = await accounts.tenant("acme");
const globex = await accounts.tenant("globex");
const person = await accounts.user({ roles: { [acme.id]: "admin", [globex.id]: "admin" } });
const keyOf = async (tenantId: string) => (await accounts.key(person, { tenantId })).key;
const [ofAcme, alsoOfAcme, ofGlobex] = [await keyOf(acme.id), await keyOf(acme.id), await keyOf(globex.id)];

const post = (path: string, key: string, request: { body: unknown; repeat: string }) =>
  call("POST", path, { key, body: request.body, headers: { "idempotency-key": request.repeat } });

test("thirty lookups on silent name servers do not delay other requests, and few run at once", async () => {
  const undo = guardTransactions();
  whenDone(undo);
  const slow = Array.from({ length: 30 }, (_, n) =>
    post("/api/v1/webhooks", ofAcme, { body: { url: `https://slow${n}.example.com/` }, repeat: `slow-${n}` }),
  );
  // Repeated once, while the slow ones still wait.
  const others = Array.from({ length: 5 }, () =>
    patiently(() => call("GET", "/api/v1/webhooks", { key: ofGlobex }), 2),
  );
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual(Array(5).fill(200));
  const refusals = (await Promise.all(slow)).map(({ status, body }) => `${status} ${body.code}`);
  // Beside others a request may exceed its own time limit.
  expect(new Set(refusals.filter((refusal) => !refusal.startsWith("503")))).toEqual(
    new Set(["422 validation-failed", "429 too-many-requests"]),
  );
});

test("an idempotent replay does not look up its address again", async () => {
  const request = { body: { url: "https://fine.example.org/" }, repeat: "fine" };
  const first = await post("/api/v1/webhooks", ofAcme, request);
  expect(first.status, first.text).toBe(201);
  const asked = names.asked.length;
  const second = await post("/api/v1/webhooks", ofAcme, request);
  expect([second.status, second.headers.get("idempotency-replayed"), second.body.id]).toEqual([
    201,
    "true",
    first.body.id,
  ]);
  expect(names.asked.length).toBe(asked);
});

test("API-01 an Idempotency-Key belongs to its principal: the same key of another one is another request", async () => {
  const request = { body: { definition_key: "plain", payload: { mine: 1 } }, repeat: "same" };
  const answers = [await post("/api/v1/jobs", ofAcme, request), await post("/api/v1/jobs", alsoOfAcme, request)];
  const repeated = [await post("/api/v1/jobs", ofAcme, request), await post("/api/v1/jobs", alsoOfAcme, request)];
  expect(answers.map(({ status, headers }) => [status, headers.get("idempotency-replayed")])).toEqual([
    [201, null],
    [201, null],
  ]);
  expect(answers[0]?.body.id).not.toBe(answers[1]?.body.id);
  expect(repeated.map(({ headers, body }) => [headers.get("idempotency-replayed"), body.id])).toEqual(
    answers.map(({ body }) => ["true", body.id]),
  );
  const other = await post("/api/v1/jobs", alsoOfAcme, { ...request, body: { definition_key: "plain" } });
  expect([other.status, other.body.code]).toEqual([422, "idempotency-mismatch"]);
});

test("an idempotent replay is reduced to what its principal may read now", async () => {
  const { id, key } = await accounts.key(person, { tenantId: acme.id });
  const request = { body: { definition_key: "plain", payload: { a: "canary" } }, repeat: "cut" };
  expect((await post("/api/v1/jobs", key, request)).text).toContain("canary");
  await database.query("update app.api_keys set scopes = '{jobs:write}' where id = $1", [id]);
  const again = await post("/api/v1/jobs", key, request);
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  expect(again.text).not.toContain("canary");
});
