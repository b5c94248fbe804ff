import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";

const CANARY = "canary-behind-the-second-wall";
const database = await testDatabase();
const settings = { LEASEHOLD_TEST_NO_TENANT_FILTER: "1" };
const { globex, enqueue, get, foreignKey, web, key, expectProblem } = await queueFixture(database, settings);

test("TENANT-08 row security alone separates tenants when the application omits its tenant condition", async () => {
  const payload = { text: CANARY };
  const foreign = await enqueue({ payload, dedupe_key: CANARY, tags: [CANARY], correlation_id: CANARY }, foreignKey);
  const mine = await enqueue();
  const list = await get("/api/v1/jobs?limit=200");
  expect(list.body.data.map((job: { id: string }) => job.id)).toEqual([mine.id]);
  expect(list.body.pagination.total).toBe(1);
  for (const path of [`tag=${CANARY}`, `correlation_id=${CANARY}`, `q=${foreign.id}`]) {
    expect((await get(`/api/v1/jobs?${path}`)).body.data, path).toEqual([]);
  }
  for (const path of ["", "/attempts", "/logs"])
    expectProblem(await get(`/api/v1/jobs/${foreign.id}${path}`), 404, "not-found");
  for (const act of ["cancel", "retry", "pause", "resume"]) {
    expectProblem(await web.call("POST", `/api/v1/jobs/${foreign.id}/${act}`, { key, body: {} }), 404, "not-found");
  }
  const schedule = { label: CANARY, trigger_type: "schedule", cron_expr: "0 0 1 1 *", definition_key: "any" };
  const trigger = await web.call("POST", "/api/v1/jobs/triggers", { key: foreignKey, body: schedule });
  const at = `/api/v1/jobs/triggers/${trigger.body.id}`;
  expect((await get("/api/v1/jobs/triggers")).body.data).toEqual([]);
  for (const path of ["", "/firings"]) expectProblem(await get(at + path), 404, "not-found");
  for (const [method, path, body] of [
    ["PATCH", "", { label: "mine" }],
    ["DELETE", "", undefined],
    ["POST", "/run", {}],
  ] as const)
    expectProblem(await web.call(method, at + path, { key, body }), 404, "not-found");
  expect((await get(at, foreignKey)).body.label).toBe(CANARY);
  expect((await get("/api/v1/jobs/summary")).body.counts.queued).toBe(1);
  for (const path of ["/api/v1/jobs", "/api/v1/jobs/summary", "/api/v1/assets", "/api/v1/me"]) {
    const { text } = await get(path);
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain(globex.id);
  }
});
