import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { commandLine, crashServer, type EmbeddedServer, freePort, startEmbedded } from "./index.mjs";

const PASSWORD = "p w/@é'\"";
let home: string;
const servers: EmbeddedServer[] = [];

beforeEach(() => {
  home = path.join(mkdtempSync(path.join(tmpdir(), "leasehold embedded ")), "with spaces");
  chmodSync(path.dirname(home), 0o755);
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  rmSync(path.dirname(home), { recursive: true, force: true });
});

async function start(options: { port?: number; durable?: boolean } = {}): Promise<EmbeddedServer> {
  const server = await startEmbedded({
    home,
    password: PASSWORD,
    durable: false,
    pgBin: process.env.PG_BIN,
    ...options,
  });
  servers.push(server);
  return server;
}

async function ask(server: EmbeddedServer, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(server.adminUrl());
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

describe("the embedded server", () => {
  test("uses UTF-8, requires a password, listens on loopback only, and collects statement statistics", async () => {
    const server = await start();
    const [row] = await ask(
      server,
      `select current_setting('server_encoding') as encoding, current_setting('listen_addresses') as addresses,
              current_setting('unix_socket_directories') as sockets, current_setting('shared_preload_libraries') as preloaded`,
    );
    expect(row).toEqual({ encoding: "UTF8", addresses: "127.0.0.1", sockets: "", preloaded: "pg_stat_statements" });
    const wrong = new pg.Client(server.adminUrl().replace(encodeURIComponent(PASSWORD), "wrong"));
    await expect(wrong.connect()).rejects.toMatchObject({ code: "28P01" });
  });

  test("closes a connection that does not sign in within seconds", async () => {
    const { port } = await start();
    const startup = Buffer.from("\0\x03\0\0user\0postgres\0\0", "latin1");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(startup.length + length.length);
    const socket = connect(port, "127.0.0.1")
      .resume()
      .on("error", () => undefined);
    const closed = once(socket, "close");
    socket.write(Buffer.concat([length, startup]));
    const began = Date.now();
    await closed;
    expect(Date.now() - began).toBeLessThan(8000);
  }, 20_000);

  test("uses another port when the requested one is in use", async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
    const { port } = blocker.address() as { port: number };
    const server = await start({ port });
    expect(server.port).not.toBe(port);
    await ask(server, "select 1");
    blocker.close();
  });

  test("keeps its port and its rows over a restart", async () => {
    const port = await freePort();
    const first = await start({ port });
    await ask(first, "create table kept as select 42 as n");
    await first.stop();
    const second = await start({ port });
    expect(second.port).toBe(port);
    expect(await ask(second, "select n from kept")).toEqual([{ n: 42 }]);
  });

  test("restarts after kill -9 with every committed row", async () => {
    const first = await start({ durable: true });
    await ask(first, "create table kept as select 42 as n");
    await crashServer(first);
    expect(existsSync(path.join(first.dir, "pg/postmaster.pid"))).toBe(true);
    expect(await ask(await start({ durable: true }), "select n from kept")).toEqual([{ n: 42 }]);
  });

  test("starts despite a pid file that names another running process", async () => {
    const first = await start();
    await first.stop();
    writeFileSync(
      path.join(first.dir, "pg/postmaster.pid"),
      `${process.pid}\n${first.dir}/pg\n0\n1\n\n127.0.0.1\n\nready\n`,
    );
    expect(await ask(await start(), "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("recreates the cluster after a first start that died half-way", async () => {
    mkdirSync(path.join(home, "pg.new"), { recursive: true });
    writeFileSync(path.join(home, "pg.new/half"), "");
    chmodSync(home, 0o755);
    expect(await ask(await start(), "select 1 as n")).toEqual([{ n: 1 }]);
    expect(existsSync(path.join(home, "pg.new"))).toBe(false);
  });

  test.runIf(process.platform === "linux")("sees nothing of the caller's environment", async () => {
    process.env.LEASEHOLD_CANARY = "canary-of-the-environment";
    const { pid } = await start();
    expect(readFileSync(`/proc/${pid}/environ`, "latin1")).not.toContain("canary-of-the-environment");
    delete process.env.LEASEHOLD_CANARY;
  });

  test("ends with its owner, even if that is killed with -9", async () => {
    const program = `const { startEmbedded } = await import(${JSON.stringify(path.resolve("lib/db/embedded/index.mjs"))});
      const server = await startEmbedded(${JSON.stringify({ home, password: PASSWORD, durable: false, pgBin: process.env.PG_BIN })});
      process.send(server.pid); setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const pid = await new Promise<number>((resolve) => owner.once("message", (message) => resolve(Number(message))));
    expect(commandLine(pid)).toContain(home);
    owner.kill("SIGKILL");
    const deadline = Date.now() + 5000;
    while (commandLine(pid) !== "" && Date.now() < deadline) await sleep(20);
    expect(commandLine(pid)).toBe("");
  });

  test("uses a folder that only its owner can enter, as a strict umask creates it", async () => {
    mkdirSync(home, { mode: 0o700 });
    const server = await start();
    expect(server.dir).toBe(home);
  });

  test("reports what to do when PG_BIN is not a PostgreSQL folder", async () => {
    await expect(startEmbedded({ home, password: PASSWORD, pgBin: "/nowhere" })).rejects.toThrow(/PG_BIN .*\/nowhere/);
  });
});
