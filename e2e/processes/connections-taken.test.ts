import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startEmbedded } from "@/lib/db/embedded/index.mjs";
import { createTestDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeTemplate } from "./own-server";
import { makeFolder, openStage } from "./stage";

const MOST_CONNECTIONS = 60;
const REFUSED = "E";

/** Opens connections to a server that never sign in, until it has no connection left. */
async function takeConnections(port: number): Promise<Socket[]> {
  const startup = Buffer.from("\0\0\0\0\0\x03\0\0user\0leasehold_worker\0\0", "latin1");
  startup.writeUInt32BE(startup.length);
  const sockets: Socket[] = [];
  for (;;) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    sockets.push(socket);
    socket.write(startup);
    const [answer] = (await once(socket, "data")) as [Buffer];
    if (answer.toString("latin1", 0, 1) === REFUSED) return sockets;
  }
}

test("leases are renewed on a server that takes no more connections, though no job ran before", async () => {
  const home = path.join(makeFolder(), "server");
  mkdirSync(home, { mode: 0o755 });
  const server = await startEmbedded({
    home,
    password: "of these tests alone",
    pgBin: process.env.PG_BIN,
    // They hold their connections for the whole test.
    settings: { max_connections: String(MOST_CONNECTIONS), authentication_timeout: "60s" },
  });
  onTestFinished(() => server.stop());
  const stage = await openStage({ on: await createTestDatabase(await makeTemplate(server)) });
  await stage.startWorker();
  const renewers = () =>
    stage.database.query("select 1 from pg_stat_activity where application_name = 'leasehold leases'");
  await waitFor(async () => (await renewers()).length === 1, { what: "the connection that renews leases" });
  const sockets = await takeConnections(server.port);
  try {
    expect(sockets.length).toBeGreaterThan(MOST_CONNECTIONS / 2);
    const job = await stage.settled(await stage.act({ run_ms: 12_000 }), 40_000);
    expect([job.status, await stage.statuses(job.id)]).toEqual(["succeeded", ["succeeded"]]);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}, 120_000);
