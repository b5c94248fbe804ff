import { createHash, randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { appendArtifact, beginArtifact, finishArtifact, type Lease } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { remoteFixture } from "./remote-fixture";
import { expectProblem } from "./web";

const database = await testDatabase();
const { web, key, foreignKey, remote, enqueue, make, admin, acme } = await remoteFixture(database, {
  ARTIFACT_JOB_MAX_BYTES: "3000000",
});
const QUOTA = { jobBytes: 20_000_000, tenantBytes: 30_000_000 };

const sha = (bytes: Uint8Array) => createHash("sha256").update(bytes);

/** A running job with one artifact, by default of two chunks. */
async function jobWith(name: string, contentType = "text/plain", size = 300_000) {
  const { definition, claim } = await remote();
  const { id } = await enqueue({ definition_key: definition });
  const [claimed] = await claim();
  const lease: Lease = { jobId: id, leaseNo: claimed.lease_no };
  const { worker, close } = makeFactory(database);
  const bytes = randomBytes(size);
  const artifact = await beginArtifact(worker, lease, { name, contentType });
  for (let no = 0; no * 200_000 < size; no += 1) {
    const part = bytes.subarray(no * 200_000, (no + 1) * 200_000);
    await appendArtifact(worker, lease, { id: artifact, no, bytes: part, quota: QUOTA });
  }
  await finishArtifact(worker, lease, { id: artifact, size: bytes.length, sha256: sha(bytes).digest() });
  await close();
  return { path: `/api/v1/jobs/${id}/artifacts`, artifact, bytes, id };
}

test("artifacts are listed and downloaded byte for byte, as attachments that no browser executes", async () => {
  const name = 'out/ü "1" 🎉.html';
  const { path, artifact, bytes, id } = await jobWith(name, "text/html");
  const list = await web.call("GET", path, { key });
  expect(list.body).toEqual({
    data: [
      {
        id: artifact,
        job_id: id,
        run_no: 1,
        attempt_no: 1,
        name,
        content_type: "text/html",
        size: bytes.length,
        sha256: sha(bytes).digest("hex"),
        created_at: expect.any(String),
      },
    ],
    tenant_usage: { bytes: expect.any(Number), max_bytes: expect.any(Number) },
  });
  const url = `${web.url}${path}/${artifact}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  const header = (wanted: string) => answer.headers.get(wanted);
  expect([answer.status, header("content-length"), header("content-type"), header("x-content-type-options")]).toEqual([
    200,
    String(bytes.length),
    "application/octet-stream",
    "nosniff",
  ]);
  expect(header("content-disposition")).toBe(
    `attachment; filename="_ _1_ __.html"; filename*=UTF-8''%C3%BC%20%221%22%20%F0%9F%8E%89.html`,
  );
  expect(header("content-security-policy")).toContain("sandbox");
  expect(header("etag")).toBe(`"${sha(bytes).digest("hex")}"`);
  const known = await web.call("GET", `${path}/${artifact}`, {
    key,
    headers: { "if-none-match": `${header("etag")}` },
  });
  expect([known.status, known.text]).toEqual([304, ""]);
  const head = await web.call("HEAD", `${path}/${artifact}`, { key });
  expect([head.status, head.text, head.headers.get("content-length")]).toEqual([200, "", String(bytes.length)]);
});

test("a session downloads an artifact by a link with the tenant; other tenants, other jobs and anonymous callers get nothing", async () => {
  const { path, artifact, bytes } = await jobWith("notes.txt");
  const cookie = await web.login(admin);
  const linked = await web.call("GET", `${path}/${artifact}?tenant=${acme.slug}`, { cookie });
  expect([linked.status, linked.headers.get("content-type")]).toEqual([200, "text/plain"]);
  expect(linked.headers.get("content-length")).toBe(String(bytes.length));
  expectProblem(await web.call("GET", path, { key: foreignKey }), 404, "not-found");
  expectProblem(await web.call("GET", `${path}/${artifact}`, { key: foreignKey }), 404, "not-found");
  expectProblem(await web.call("GET", `${path}/${artifact}`, {}), 401, "unauthenticated");
  const other = await jobWith("other");
  expectProblem(await web.call("GET", `${other.path}/${artifact}`, { key }), 404, "not-found");
});

test("revoking a key ends its download in progress", async () => {
  const { path, artifact, bytes } = await jobWith("long.bin", "application/octet-stream", 16_000_000);
  const own = await make.key(admin, { tenantId: acme.id });
  const answer = await fetch(`${web.url}${path}/${artifact}`, { headers: { authorization: `Bearer ${own.key}` } });
  await database.query("update app.api_keys set revoked_at = now() where id = $1", [own.id]);
  let received = 0;
  const readOn = async () => {
    for await (const part of answer.body ?? []) {
      received += part.length;
      await setTimeout(25); // a slow client: six seconds for all
    }
  };
  await expect(readOn()).rejects.toThrow();
  expect(received).toBeLessThan(bytes.length);
  expect(web.log()).not.toMatch(/"level":"(error|fatal)"/);
});

test("deleting an artifact requires the right to change jobs, frees the quota and is recorded in the job's audit", async () => {
  const { path, artifact, bytes, id } = await jobWith("old.csv");
  const usage = async () => (await web.call("GET", path, { key })).body.tenant_usage.bytes;
  const before = await usage();
  expectProblem(await web.call("DELETE", `${path}/${artifact}`, { key: foreignKey }), 404, "not-found");
  const deleted = await web.call("DELETE", `${path}/${artifact}`, { key });
  expect([deleted.status, deleted.body.id, deleted.body.name]).toEqual([200, artifact, "old.csv"]);
  expect(before - (await usage())).toBe(bytes.length);
  expectProblem(await web.call("DELETE", `${path}/${artifact}`, { key }), 404, "not-found");
  expectProblem(await web.call("GET", `${path}/${artifact}`, { key }), 404, "not-found");
  const audited = "select action, reason, actor_kind from app.job_audit where job_id = $1 and action <> 'enqueue'";
  expect(await database.query(audited, [id])).toEqual([
    { action: "delete_artifact", reason: "old.csv", actor_kind: "api_key" },
  ]);
});

test("a remote worker uploads in parts and repeats unanswered requests; a lost lease or an exceeded quota refuses the upload", async () => {
  const { definition, claim, key: workerKey } = await remote();
  const { id } = await enqueue({ definition_key: definition });
  const [{ lease_no }] = await claim();
  const put = async (query: Record<string, string>, body: Uint8Array, as = workerKey) => {
    const search = new URLSearchParams({ lease_no: String(lease_no), name: "far.bin", ...query });
    const headers = { authorization: `Bearer ${as}`, "content-type": "application/x-far" };
    const answer = await fetch(`${web.url}/api/v1/worker/jobs/${id}/artifacts?${search}`, {
      method: "PUT",
      headers,
      body: Buffer.from(body),
    });
    const json = await answer.json();
    return { status: answer.status, code: json.code, artifact: json.artifact };
  };
  const bytes = randomBytes(2_500_000);
  const part = (no: number) => bytes.subarray(no * 1_000_000, (no + 1) * 1_000_000);
  const sha256 = sha(bytes).digest("hex");
  expect((await put({ part: "0", last: "false" }, part(0))).status).toBe(200);
  for (let times = 0; times < 2; times += 1)
    expect((await put({ part: "1", last: "false" }, part(1))).status).toBe(200);
  const list = async () => (await web.call("GET", `/api/v1/jobs/${id}/artifacts`, { key })).body.data;
  expect(await list()).toEqual([]);
  expect(await put({ part: "2", sha256: "0".repeat(64) }, part(2))).toMatchObject({
    status: 422,
  });
  for (let times = 0; times < 2; times += 1) {
    const done = await put({ part: "2", sha256 }, part(2));
    expect([done.status, done.artifact.size, done.artifact.sha256]).toEqual([200, bytes.length, sha256]);
  }
  const [listed] = await list();
  expect([listed.name, listed.content_type]).toEqual(["far.bin", "application/x-far"]);
  const url = `${web.url}/api/v1/jobs/${id}/artifacts/${listed.id}`;
  const got = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).toBe(true);

  expect((await put({ name: "empty" }, new Uint8Array())).artifact.size).toBe(0);
  // Part 1 is missing, so an empty last part does not complete the artifact.
  await put({ name: "gap", last: "false" }, bytes.subarray(0, 1));
  expect(await put({ name: "gap", part: "2" }, new Uint8Array())).toMatchObject({ status: 409, code: "artifact-gone" });
  expect(await put({ name: "a/../b" }, bytes.subarray(0, 1))).toMatchObject({ status: 422, code: "validation-failed" });
  expect(await put({ name: "none", part: "1" }, bytes.subarray(0, 1))).toMatchObject({
    status: 409,
    code: "artifact-gone",
  });
  const { key: otherKey } = await remote();
  expect(await put({}, bytes.subarray(0, 1), otherKey)).toMatchObject({ status: 409, code: "lease-lost" });
  expect(await put({ lease_no: "99" }, bytes.subarray(0, 1))).toMatchObject({ status: 409, code: "lease-lost" });
  expect((await put({}, bytes.subarray(0, 1), key)).status).toBe(403);
  expect(await put({ name: "too much" }, new Uint8Array(1024 * 1024))).toMatchObject({
    status: 413,
    code: "artifact-quota",
  });
  expect((await list()).map(({ name }: { name: string }) => name)).toEqual(["empty", "far.bin"]);
});
