import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { deliverMessage } from "./deliver-message";
import { messageOf } from "./payload";
import { type Receiver, startReceiver } from "./receiver.fixture";
import { newWebhookSecret } from "./signature";

let receiver: Receiver;
let deadEnd: { port: number; close(): void };
beforeAll(async () => {
  receiver = await startReceiver();
  deadEnd = await startDeadEnd();
});
afterAll(async () => {
  await receiver.close();
  deadEnd.close();
});

const policy = { allowHttp: true, loopback: ["127.0.0.1:*"] };
const limits = { connectMs: 700, totalMs: 1500, responseBytes: 64 * 1024 };
const job = { id: "019e0000-0000-7000-8000-000000000001", queuedAt: new Date("2026-02-16T10:30:00Z") };
const secret = newWebhookSecret();
const payload = { endpoint_id: job.id, type: "order.paid", data: { name: "Zoë – 日本 🎉", big: 1e21, tiny: 1e-7 } };

const sendTo = (
  url: string,
  changes: { secrets?: string[]; headers?: Record<string, string>; signal?: AbortSignal; data?: string } = {},
) =>
  deliverMessage(
    {
      tenantId: "acme",
      message: messageOf(changes.data === undefined ? payload : { ...payload, data: changes.data }, job),
      url,
      secrets: changes.secrets ?? [secret],
      headers: changes.headers ?? {},
      ownHeaders: {},
    },
    { policy, limits, signal: changes.signal ?? new AbortController().signal },
  );
const codeOf = async (url: string) => (await sendTo(url)).answer.failed?.code;
const last = () => receiver.received.at(-1) ?? { headers: {}, body: "", method: "", path: "" };

describe("WEBHOOK-08 C6 messages are signed as Standard Webhooks defines", () => {
  test("the signature verifies over the received bytes and nothing else", async () => {
    receiver.answer = (_request, response) => void response.writeHead(200).end("ok");
    const { answer } = await sendTo(receiver.url);
    expect(answer).toMatchObject({ statusCode: 200, failed: null });
    const { headers, body } = last();
    expect(new Webhook(secret).verify(body, { ...headers })).toEqual({
      type: "order.paid",
      timestamp: "2026-02-16T10:30:00.000Z",
      data: payload.data,
    });
    const verify =
      (changed: Record<string, string>, text = body, key = secret) =>
      () =>
        new Webhook(key).verify(text, { ...headers, ...changed });
    expect(verify({}, `${body} `)).toThrow();
    expect(verify({ "webhook-id": "msg_other" })).toThrow();
    expect(verify({ "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 1) })).toThrow();
    expect(verify({ "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 301) })).toThrow(/old|time/i);
    expect(verify({}, body, newWebhookSecret())).toThrow();
  });

  test("id and body are the same in each attempt, the timestamp is the attempt's", async () => {
    await sendTo(receiver.url);
    const first = last();
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await sendTo(receiver.url);
    const second = last();
    expect(second.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
    expect(second.body).toBe(first.body);
    expect(Number(second.headers["webhook-timestamp"])).toBeGreaterThan(Number(first.headers["webhook-timestamp"]));
    expect(second.headers["webhook-signature"]).not.toBe(first.headers["webhook-signature"]);
  });

  test("during a rotation both secrets verify", async () => {
    const old = newWebhookSecret();
    await sendTo(receiver.url, { secrets: [secret, old] });
    const { headers, body } = last();
    for (const key of [secret, old]) expect(() => new Webhook(key).verify(body, { ...headers })).not.toThrow();
  });
});

describe("the stored text of a delivery", () => {
  const SECRET_HEADER = "abcdefgh".repeat(40);
  test.each(["-----BEGIN PRIVATE KEY-----", "-eyJaaaaaa", `${SECRET_HEADER} `])(
    "is its start, and costs no more for a long body: %j",
    async (hostile) => {
      receiver.answer = (_request, response) => void response.writeHead(200).end(hostile.repeat(2000));
      const headers = { "x-key": SECRET_HEADER };
      const kept = await sendTo(receiver.url, { headers, data: hostile.repeat(Math.ceil(250_000 / hostile.length)) });
      for (const text of [kept.request, kept.response ?? ""]) {
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024);
        expect(text).not.toContain("abcdefghabcdefgh");
      }
    },
  );

  test("contains no part of a secret that is cut off", async () => {
    const token = `ghp_${"k".repeat(36)}`;
    const key = `-----BEGIN PRIVATE KEY-----${"m".repeat(1200)}-----END PRIVATE KEY-----`;
    for (let room = 2048 - key.length - 60; room < 2048 - key.length; room += 7) {
      const answer = `${key}${".".repeat(room)} ${token} ${SECRET_HEADER} ${"z".repeat(5000)}`;
      receiver.answer = (_request, response) => void response.writeHead(200).end(answer);
      const { response } = await sendTo(receiver.url, { headers: { "x-key": SECRET_HEADER } });
      expect(response).not.toMatch(/mmmm|kkkk|abcdefgh/);
      expect(response?.endsWith("…")).toBe(true);
    }
  });
});

describe("WEBHOOK-06 the kinds of failed deliveries are distinguished", () => {
  test("a closed port", async () => {
    const closed = await startReceiver();
    await closed.close();
    expect(await codeOf(closed.url)).toBe("connect_refused");
  });

  test("a connection that is never accepted", async () => {
    expect(await codeOf(`http://127.0.0.1:${deadEnd.port}/`)).toBe("connect_timeout");
  });

  test("headers that never arrive, and a body that never ends", async () => {
    receiver.answer = () => undefined;
    expect(await codeOf(receiver.url)).toBe("response_timeout");
    receiver.answer = (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write("."), 100);
      response.on("close", () => clearInterval(drip));
    };
    expect(await codeOf(receiver.url)).toBe("response_timeout");
  });

  test("a reset before and in the middle of the answer", async () => {
    receiver.answer = (request) => request.socket.resetAndDestroy();
    expect(await codeOf(receiver.url)).toBe("reset");
    receiver.answer = (request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => request.socket.destroy());
    };
    expect(await codeOf(receiver.url)).toBe("reset");
  });

  test("an answer that is not HTTP", async () => {
    const server = await listening(createServer((socket: Socket) => socket.end("SSH-2.0-nonsense\r\n")));
    expect(await codeOf(`http://127.0.0.1:${server.port}/`)).toBe("bad_response");
    server.close();
  });

  test("a server without TLS, and one without a valid certificate", async () => {
    expect(await codeOf(receiver.url.replace("http:", "https:"))).toBe("tls");
    const server = await listening(createTlsServer({}, (_request, response) => void response.end("ok")));
    expect(await codeOf(`https://127.0.0.1:${server.port}/`)).toBe("tls");
    server.close();
  });

  test("an error status, with the receiver's message", async () => {
    receiver.answer = (_request, response) => void response.writeHead(503, { "retry-after": "120" }).end("busy");
    const { answer, response } = await sendTo(receiver.url);
    expect(answer).toMatchObject({ statusCode: 503, retryAfter: "120", failed: { code: "http_status" } });
    expect(response).toBe("busy");
  });

  test("an endless answer is read up to 64 KiB and stored up to 1 KiB", async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(200);
      response.end("é".repeat(100_000));
    };
    const { answer, response } = await sendTo(receiver.url);
    expect(answer.failed?.code).toBe("too_large");
    expect(answer.body.length).toBeLessThanOrEqual(limits.responseBytes);
    expect(Buffer.byteLength(response ?? "")).toBeLessThanOrEqual(1024);
    expect(response).toMatch(/^é+…$/);
  });

  test("a stopped attempt closes its connection at once", async () => {
    receiver.answer = () => undefined;
    const controller = new AbortController();
    const sent = sendTo(receiver.url, { signal: controller.signal });
    setTimeout(() => controller.abort("cancel"), 100);
    expect((await sent).answer.failed?.code).toBe("stopped");
  });
});

describe("WEBHOOK-03 redirects", () => {
  test.each([301, 302, 303, 307, 308])("%d is not followed", async (status) => {
    const other = await startReceiver();
    for (const location of [other.url, "http://169.254.169.254/latest", "file:///etc/passwd", receiver.url]) {
      const before = receiver.received.length;
      receiver.answer = (_request, response) => void response.writeHead(status, { location }).end();
      const { answer } = await sendTo(receiver.url);
      expect(answer).toMatchObject({ statusCode: status, failed: { code: "redirect" } });
      expect(receiver.received.length).toBe(before + 1);
    }
    expect(other.connections.opened).toBe(0);
    await other.close();
  });
});

describe("WEBHOOK-05 receivers that do not answer", () => {
  test("leave no socket behind over 100 deliveries, and delay no other", async () => {
    const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
    const hung = await startReceiver();
    const before = sockets();
    hung.answer = () => undefined;
    receiver.answer = (_request, response) => void response.writeHead(200).end("ok");
    const waiting = Array.from({ length: 100 }, () => codeOf(hung.url));
    expect((await sendTo(receiver.url)).answer.failed).toBeNull();
    for (const code of await Promise.all(waiting)) expect(["response_timeout", "connect_timeout"]).toContain(code);
    await waitFor(() => hung.connections.open === 0 && sockets() <= before);
    await hung.close();
  });
});

describe("WH-2 connections", () => {
  test("are not kept alive, and no proxy of the environment is used", async () => {
    receiver.answer = (_request, response) => void response.writeHead(200).end("ok");
    const proxy = await startReceiver();
    const before = process.env.http_proxy;
    process.env.http_proxy = proxy.url;
    const opened = receiver.connections.opened;
    for (let n = 0; n < 5; n += 1) expect((await sendTo(receiver.url)).answer.failed).toBeNull();
    if (before === undefined) delete process.env.http_proxy;
    else process.env.http_proxy = before;
    expect(receiver.connections.opened).toBe(opened + 5);
    expect(proxy.connections.opened).toBe(0);
    await proxy.close();
  });

  test("the stored request and response contain no secret, even if the receiver repeats it", async () => {
    const header = "Bearer canary-header-value";
    receiver.answer = (_request, response, { headers }) =>
      void response.writeHead(400).end(`${headers.authorization} ${headers["webhook-signature"]} ${secret}`);
    const { request, response } = await sendTo(receiver.url, { headers: { authorization: header, "x-env": "test" } });
    expect(last().headers).toMatchObject({ authorization: header, "x-env": "test" });
    for (const text of [request, response ?? ""]) {
      for (const canary of [header, "canary-header-value", secret, secret.slice(6)]) expect(text).not.toContain(canary);
      expect(text).not.toContain(last().headers["webhook-signature"]?.slice(3));
    }
    expect(request).toContain("authorization: [redacted]");
    expect(request).toContain('"type":"order.paid"');
  });
});

async function listening(server: Server): Promise<{ port: number; close(): void }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

/** A port with a full connection queue, so that the next connection waits forever. */
async function startDeadEnd(): Promise<{ port: number; close(): void }> {
  const { spawn } = await import("node:child_process");
  const script = `
    const net = require("node:net");
    const server = net.createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      const { port } = server.address();
      for (let n = 0; n < 4; n += 1) net.connect(port, "127.0.0.1").on("error", () => {});
      setTimeout(() => { console.log(port); const until = Date.now() + 120000; while (Date.now() < until); }, 0);
    });`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise<number>((resolve) => child.stdout.once("data", (text) => resolve(Number(text))));
  return { port, close: () => void child.kill("SIGKILL") };
}
