import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { appendArtifact, beginArtifact, finishArtifact } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { eventually } from "@/lib/testing/eventually";
import { makeFactory } from "@/lib/testing/rows/factories";
import { remoteFixture } from "./remote-fixture";
import { cookiesOf } from "./web";

const database = await testDatabase();
const { web, key, remote, enqueue } = await remoteFixture(database, { TRUSTED_PROXIES: "127.0.0.0/8" });
const { hostname, port } = new URL(web.url);

const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${more}\r\n`;
/** More than the buffers of a connection hold. */
const UNREAD = get("/docs/api").repeat(9);

/** Sends requests behind answers that are never read. Resolves once the first answer has begun. */
async function sendBehindUnread(text: string): Promise<Socket> {
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(UNREAD + text);
  await once(socket, "readable");
  return socket;
}

async function close(socket: Socket): Promise<void> {
  socket.destroy();
  await eventually(() => expect(socket.closed).toBe(true));
}

async function artifactOfJob(): Promise<string> {
  const { definition, claim } = await remote();
  const { id } = await enqueue({ definition_key: definition });
  const [claimed] = await claim();
  const lease = { jobId: id, leaseNo: claimed.lease_no };
  const { worker, close: closeWorker } = makeFactory(database);
  const bytes = randomBytes(190_000);
  const artifact = await beginArtifact(worker, lease, { name: "a.bin", contentType: "text/plain" });
  const quota = { jobBytes: 1_000_000, tenantBytes: 1_000_000 };
  await appendArtifact(worker, lease, { id: artifact, no: 0, bytes, quota });
  const sha256 = createHash("sha256").update(bytes).digest();
  await finishArtifact(worker, lease, { id: artifact, size: bytes.length, sha256 });
  await closeWorker();
  return `/api/v1/jobs/${id}/artifacts/${artifact}`;
}

test("downloads behind an unread answer end with their connection", async () => {
  const path = await artifactOfJob();
  const socket = await sendBehindUnread(get(path, `authorization: Bearer ${key}\r\n`).repeat(7));
  expect((await web.call("GET", path, { key })).status).toBe(200);
  await close(socket);
  // Web polls the rights of open downloads every 1.5 seconds, and stops when none is open.
  await setTimeout(5000);
  const polled = `select count(*)::int as polls from pg_stat_activity where datname = current_database()
    and pid <> pg_backend_pid() and query like '%k.scopes::text%' and query_start > clock_timestamp() - interval '3 seconds'`;
  expect(await database.query(polled)).toEqual([{ polls: 0 }]);
});

test("sign-ins behind an unread answer take no slots from their network", async () => {
  const signIn =
    "POST /api/auth/callback/credentials HTTP/1.1\r\nhost: 127.0.0.1\r\nx-forwarded-for: 198.51.100.7\r\n" +
    "sec-fetch-site: same-origin\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n{";
  for (let no = 0; no < 5; no += 1) {
    const socket = await sendBehindUnread(signIn.repeat(7));
    await web.call("GET", "/livez");
    await close(socket);
  }
  const csrf = await web.call("GET", "/api/auth/csrf");
  const answer = await web.call("POST", "/api/auth/callback/credentials", {
    cookie: cookiesOf(csrf),
    headers: { "x-forwarded-for": "198.51.100.200" },
    body: { csrfToken: csrf.body.csrfToken, email: "ada@example.test", password: "not hers" },
  });
  expect(answer.status).toBe(401);
});

test("health requests behind an unread answer do not delay others", async () => {
  const socket = await sendBehindUnread(get("/livez").repeat(3) + get("/readyz").repeat(3));
  for (const path of ["/livez", "/readyz", "/livez", "/readyz"]) {
    const answer = await fetch(web.url + path, { signal: AbortSignal.timeout(10_000) });
    expect(answer.status).toBe(200);
  }
  await close(socket);
});
