import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWeb } from "@/e2e/api/web";
import { startEmbedded } from "@/lib/db/embedded/index.mjs";
import { createTestDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { makeTemplate } from "./own-server";
import { makeFolder, openStage } from "./stage";

const MOST_CONNECTIONS = 80;
/** Longer than a pool keeps an idle connection. */
const QUIET_MS = 33_000;
const REFUSED = "E";

const home = path.join(makeFolder(), "server");
mkdirSync(home, { mode: 0o755 });
const server = await startEmbedded({
  home,
  password: "of these tests alone",
  pgBin: process.env.PG_BIN,
  // Connections that do not sign in last for the whole test.
  settings: { max_connections: String(MOST_CONNECTIONS), authentication_timeout: "120s" },
});
afterAll(() => server.stop());
const stage = await openStage({ on: await createTestDatabase(await makeTemplate(server)) });
const make = accountsIn(stage.database);
const user = await make.user({ roles: { [stage.scope.tenantId]: "admin" } });
const { key } = await make.key(user, { tenantId: stage.scope.tenantId });
const web = await startWeb(stage.database);
await stage.startWorker();

/** Opens connections that never sign in, until the server has none left. */
async function takeConnections(): Promise<Socket[]> {
  const startup = Buffer.from("\0\0\0\0\0\x03\0\0user\0leasehold_worker\0\0", "latin1");
  startup.writeUInt32BE(startup.length);
  const sockets: Socket[] = [];
  for (;;) {
    const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
    sockets.push(socket);
    socket.write(startup);
    const [answer] = (await once(socket, "data")) as [Buffer];
    if (answer.toString("latin1", 0, 1) === REFUSED) return sockets;
  }
}

const callWeb = async () => (await web.call("GET", "/api/v1/jobs?limit=5", { key })).status;
let taken: Socket[] = [];
beforeAll(async () => {
  const renewers = "select 1 from pg_stat_activity where application_name = 'leasehold leases'";
  await waitFor(async () => (await stage.database.query(renewers)).length === 1, {
    what: "the one that renews leases",
  });
  expect(await callWeb()).toBe(200);
  // The test's own connections are open from here on.
  await stage.settled(await stage.enqueue("quick"));
  taken = await takeConnections();
  expect(taken.length).toBeGreaterThan(MOST_CONNECTIONS / 2);
});
afterAll(() => {
  for (const socket of taken) socket.destroy();
});

test("leases are renewed while the server has no free connection, also without an earlier renewal", async () => {
  const job = await stage.settled(await stage.act({ run_ms: 12_000 }), 40_000);
  expect([job.status, await stage.statuses(job.id)]).toEqual(["succeeded", ["succeeded"]]);
}, 60_000);

test("an idle web process answers while the server has no free connection", async () => {
  await sleep(QUIET_MS);
  expect(await callWeb()).toBe(200);
}, 60_000);
