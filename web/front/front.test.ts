import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { deviceCookie } from "@/lib/auth/device";
import { eventually } from "@/lib/testing/eventually";
import type { FrontOptions } from "./front";
import { closing, get, openFront } from "./front.fixture";

test("half-open connections are closed once their headers are overdue", async () => {
  const headersWithinMs = 400;
  const { dial } = await openFront({ headersWithinMs });
  const started = performance.now();
  const sockets = await Promise.all(
    ["", "GET / HT", "GET / HTTP/1.1\r\nhost: x\r\n"].flatMap((text) => Array.from({ length: 20 }, () => dial(text))),
  );
  for (const socket of sockets) socket.resume();
  await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
  expect(performance.now() - started).toBeLessThan(5 * (headersWithinMs + headersWithinMs / 5) + 2000);
});

test("an overdue connection frees its slot even if its client never closes it", async () => {
  const { server, dial } = await openFront({ headersWithinMs: 400 });
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const client = await dial();
  client.pause();
  client.write("GET / HTTP/1.1\r\nA: ");
  const [socket] = await accepted;
  await once(socket, "close");
});

test("a refused upgrade frees its slot even if its client never closes the connection", async () => {
  const { server, dial } = await openFront();
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const client = await dial(get("/", "host: localhost", "upgrade: websocket").replace("close", "upgrade"));
  client.pause();
  const [socket] = await accepted;
  await once(socket, "close");
});

test("a connection is closed when its client does not read the answer, and stays open while the client reads slowly", async () => {
  const silentForMs = 400;
  const next: FrontOptions["next"] = () => async (_, res) => void res.end(Buffer.alloc(15 * 1024 * 1024));
  const { server, dial } = await openFront({ silentForMs, next });
  const accept = async () => {
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const client = await dial("GET /login HTTP/1.1\r\nhost: localhost\r\n\r\n");
    return { client, socket: (await accepted)[0] };
  };
  const slow = await accept();
  const reading = setInterval(() => slow.client.read(128 * 1024), 10);
  closing.push(() => clearInterval(reading));
  const unread = await accept();
  unread.client.pause();
  if (!unread.socket.closed) await once(unread.socket, "close");
  expect(slow.socket.closed).toBe(false);
  expect((await openFront()).server.timeout).toBe(120_000);
});

test("overdue connections are checked every two seconds", async () => {
  const { server } = await openFront();
  expect(server).toMatchObject({ headersTimeout: 10_000, connectionsCheckingInterval: 2000 });
});

test("a connection beyond MAX_CONNECTIONS is closed, the others stay open", async () => {
  const { dial, log } = await openFront({ maxConnections: 3 });
  const kept = [await dial(), await dial(), await dial()];
  const extra = await dial();
  extra.resume();
  if (!extra.closed) await once(extra, "close");
  expect(kept.map(({ closed }) => closed)).toEqual([false, false, false]);
  expect(log.warn).toHaveBeenCalledOnce();
});

test.each([
  ["the public host", 200, ["host: leasehold.example.com"]],
  ["the public host in capitals, with a port and a dot", 200, ["host: LEASEHOLD.example.com.:8443"]],
  ["this machine by name", 200, ["host: localhost:3000"]],
  ["this machine by address", 200, ["host: 127.0.0.1"]],
  ["this machine by its IPv6 address", 200, ["host: [::1]:3000"]],
  ["another host", 421, ["host: evil.test"]],
  ["a host that begins alike", 421, ["host: leasehold.example.com.evil.test"]],
  ["another address", 421, ["host: 192.0.2.1"]],
  ["two hosts", 400, ["host: leasehold.example.com", "Host: evil.test"]],
  ["the same host twice", 400, ["host: localhost", "host: localhost"]],
  ["a host with a user", 400, ["host: me@localhost"]],
  ["an empty host", 400, ["host:"]],
])("a request with %s is answered with %i", async (_, status, lines) => {
  const { ask } = await openFront();
  expect(await ask(get("/login", ...lines))).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test("without AUTH_URL any IP address is accepted as host, but no other name; health accepts any host", async () => {
  const { ask } = await openFront({ hosts: { names: ["127.0.0.1"], anyAddress: true } });
  expect(await ask(get("/login", "host: 192.168.1.5:3000"))).toMatch(/^HTTP\/1.1 200 /);
  expect(await ask(get("/login", "host: [2001:db8::1]"))).toMatch(/^HTTP\/1.1 200 /);
  expect(await ask(get("/login", "host: evil.test"))).toMatch(/^HTTP\/1.1 421 /);
  expect(await ask(get("/livez", "host: evil.test"))).toMatch(/^HTTP\/1.1 200 /);
});

test("X-Forwarded-For sets the client's address only if it comes from a trusted proxy", async () => {
  const forged = get("/login", "host: localhost", "x-forwarded-for: 6.6.6.6, 203.0.113.9");
  expect(await (await openFront()).ask(forged)).toContain("client 127.0.0.1");
  expect(await (await openFront({ trustedProxies: { hops: 1 } })).ask(forged)).toContain("client 203.0.113.9");
});

test("a request can have as many cookies as browsers store, and no more", async () => {
  const { ask } = await openFront();
  const cookies = (count: number) => `cookie: ${Array.from({ length: count }, (_, n) => `c${n}=`).join("; ")}`;
  expect(await ask(get("/login", "host: localhost", cookies(180)))).toContain("client");
  expect(await ask(get("/login", "host: localhost", cookies(181)))).toMatch(
    /^HTTP\/1.1 400 [\s\S]*at most 180 cookies/,
  );
});

describe("sign-ins in progress", () => {
  const deviceSecret = "a secret of this test";
  const [cookie] = deviceCookie(null, "ada@example.test", { origin: "http://localhost", deviceSecret }).split(";");
  const post = (path: string, address: string, ...lines: string[]) =>
    get(path, "host: localhost", `x-forwarded-for: ${address}`, ...lines, "content-length: 0").replace("GET", "POST");
  const SIGN_IN = "/api/auth/callback/credentials";

  /** A front before a framework that answers sign-ins when the test says so. */
  async function openBusy(count: number, request: (n: number) => string) {
    const [waiting, arrived] = [[] as (() => void)[], vi.fn()];
    const front = await openFront({
      deviceSecret,
      trustedProxies: { hops: 1 },
      next: () => async (_, res) => {
        arrived();
        if (waiting.length < count) await new Promise<void>((resolve) => void waiting.push(resolve));
        res.end("signed in");
      },
    });
    const sockets = await Promise.all(Array.from({ length: count }, (_, n) => front.dial(request(n))));
    await eventually(() => expect(arrived).toHaveBeenCalledTimes(count));
    return { ...front, sockets, waiting };
  }

  test("are limited to thirty for one network; other networks and known browsers are not affected", async () => {
    const { ask } = await openBusy(30, (n) => post(SIGN_IN, `198.51.100.${n}`));
    const refused = await ask(post(SIGN_IN, "198.51.100.77"));
    expect(refused).toMatch(/^HTTP\/1.1 429 [\s\S]*retry-after: 2[\s\S]*too-many-requests/i);
    expect(await ask(post("/api/auth/callback/%63redentials", "198.51.100.77"))).toMatch(/^HTTP\/1.1 429 /);
    expect(await ask(post(SIGN_IN, "198.51.100.77", "cookie: leasehold.device=forged"))).toMatch(/^HTTP\/1.1 429 /);
    expect(await ask(post(SIGN_IN, "198.51.100.77", `cookie: ${cookie}`))).toContain("signed in");
    expect(await ask(post("/api/auth/signout", "198.51.100.77"))).toContain("signed in");
    expect(await ask(post(SIGN_IN, "203.0.113.5"))).toContain("signed in");
  });

  test("are limited to thirty for the known browsers of one account, on any network", async () => {
    const { ask } = await openBusy(30, (n) => post(SIGN_IN, `198.51.${n}.1`, `cookie: ${cookie}`));
    expect(await ask(post(SIGN_IN, "203.0.113.5", `cookie: ${cookie}`))).toMatch(/^HTTP\/1.1 429 /);
    expect(await ask(post(SIGN_IN, "203.0.113.5"))).toContain("signed in");
  });

  test("are limited to 120 for all strangers; known browsers are not affected", async () => {
    const { ask } = await openBusy(120, (n) => post(SIGN_IN, `198.51.${n}.1`));
    expect(await ask(post(SIGN_IN, "203.0.113.5"))).toMatch(/^HTTP\/1.1 429 /);
    expect(await ask(post(SIGN_IN, "203.0.113.5", `cookie: ${cookie}`))).toContain("signed in");
  });

  test("do not include incomplete requests, which are refused when their body does not arrive", async () => {
    const { ask, dial, waiting } = await openBusy(0, () => "");
    const half = post(SIGN_IN, "198.51.100.1").replace("content-length: 0", "content-length: 100");
    const halves = await Promise.all(Array.from({ length: 40 }, () => dial(half)));
    expect(await ask(post(SIGN_IN, "198.51.100.1"))).toContain("signed in");
    const late = await ask(half);
    expect(late).toMatch(/^HTTP\/1.1 408 [\s\S]*body-too-slow/);
    const large = post(SIGN_IN, "198.51.100.1").replace("content-length: 0", "content-length: 20000");
    expect(await ask(large + "x".repeat(20_000))).toMatch(/^HTTP\/1.1 413 /);
    for (const socket of halves) socket.destroy();
    expect(waiting).toEqual([]);
  });

  test("reach the framework with a complete body, sent in one chunk or many", async () => {
    const body = "x".repeat(16_000);
    const next: FrontOptions["next"] = () => async (req, res) => {
      let read = "";
      for await (const chunk of req) read += chunk;
      res.end(`read ${read === body}`);
    };
    const { ask, dial } = await openFront({ next });
    const head = post(SIGN_IN, "198.51.100.1").replace("content-length: 0", `content-length: ${body.length}`);
    expect(await ask(`${head}${body}`)).toContain("read true");
    const chunked = post(SIGN_IN, "198.51.100.1").replace("content-length: 0", "transfer-encoding: chunked");
    const socket = await dial(chunked);
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    for (let at = 0; at < body.length; at += 4000) {
      socket.write(`${(4000).toString(16)}\r\n${body.slice(at, at + 4000)}\r\n`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.write("0\r\n\r\n");
    await eventually(() => expect(answer).toContain("read true"));
  });

  test("end when their answer is complete, although the framework waits for its reader", async () => {
    const next: FrontOptions["next"] = () => (_, res) => {
      res.end("signed in");
      return new Promise(() => undefined);
    };
    const { ask } = await openFront({ next });
    for (let no = 0; no < 31; no += 1) expect(await ask(post(SIGN_IN, "198.51.100.1"))).toContain("signed in");
  });

  test("count until they have ended, also when the client is gone", async () => {
    const { ask, sockets, waiting } = await openBusy(30, () => post(SIGN_IN, "198.51.100.1"));
    for (const socket of sockets) socket.destroy();
    await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
    expect(await ask(post(SIGN_IN, "198.51.100.1"))).toMatch(/^HTTP\/1.1 429 /);
    waiting[0]?.();
    await eventually(async () => expect(await ask(post(SIGN_IN, "198.51.100.1"))).toContain("signed in"));
  });
});
