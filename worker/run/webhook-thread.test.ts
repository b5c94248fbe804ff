import { once, setMaxListeners } from "node:events";
import { rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mainThreadMs } from "@/lib/testing/measure/main-thread";
import { waitFor } from "@/lib/testing/processes";
import type { Post } from "@/lib/webhooks/delivery";
import { costlyChain, startTlsReceiver } from "@/lib/webhooks/delivery/costly-tls.fixture";
import { startReceiver } from "@/lib/webhooks/delivery/receiver.fixture";
import { WebhookThread, webhookThreadFile } from "./webhook-thread";
import { useBuiltWebhookThread } from "./webhook-thread.fixture";

let folder = "";
beforeAll(async () => {
  folder = await useBuiltWebhookThread();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const policy = { allowHttp: true, loopback: ["127.0.0.1:*"] };
const limits = { connectMs: 30_000, totalMs: 30_000, responseBytes: 64 * 1024 };
const to = (url: string, signal = new AbortController().signal, tenantId = "acme"): Post => ({
  tenantId,
  url,
  headers: { "x-own": "1" },
  body: "{}",
  policy,
  limits,
  signal,
});

/** A chain of so many certificates is just short enough to be checked. */
const COSTLY = 11;
const others = (url: string) => to(url, new AbortController().signal, "globex");

test("posts from its thread, and returns the receiver's answer", async () => {
  const receiver = await startReceiver();
  receiver.answer = (_request, response) => void response.writeHead(503, { "retry-after": "7" }).end("busy");
  const { post } = new WebhookThread();
  const answers = await Promise.all(Array.from({ length: 5 }, () => post(to(receiver.url))));
  for (const answer of answers) {
    expect(answer).toMatchObject({ statusCode: 503, retryAfter: "7", body: Buffer.from("busy") });
    expect(answer.failed?.code).toBe("http_status");
  }
  expect(receiver.received[0]).toMatchObject({ method: "POST", body: "{}", headers: { "x-own": "1" } });
  await receiver.close();
});

test.runIf(process.platform === "linux")(
  "certificates that take long to verify do not block the caller's event loop",
  async () => {
    const receiver = await startTlsReceiver(costlyChain(COSTLY));
    const receiverOfOthers = await startReceiver();
    const { post } = new WebhookThread();
    await post(to(receiverOfOthers.url));
    const before = mainThreadMs();
    const { failed } = await post(to(receiver.url));
    expect(mainThreadMs() - before).toBeLessThan(100);
    expect(failed?.code).toBe("tls");
    await Promise.all([receiver.close(), receiverOfOthers.close()]);
  },
);

test("a chain of certificates beyond 16 KiB is refused without a check", async () => {
  const receiver = await startTlsReceiver(costlyChain(50));
  const { failed } = await new WebhookThread().post(to(receiver.url));
  expect(failed).toEqual({ code: "tls", detail: "TLS failed (CERT_CHAIN_TOO_LONG)" });
  await receiver.close();
});

test("deliveries of another tenant succeed beside receivers with costly certificates", {
  timeout: 120_000,
}, async () => {
  const [costly, receiver] = [await startTlsReceiver(costlyChain(COSTLY)), await startReceiver()];
  const { post } = new WebhookThread();
  await post(others(receiver.url));
  const [abort, errors] = [new AbortController(), new Set<string | undefined>()];
  setMaxListeners(20, abort.signal);
  const attack = Array.from({ length: 20 }, async () => {
    while (!abort.signal.aborted) errors.add((await post(to(costly.url, abort.signal))).failed?.code);
  });
  for (const until = performance.now() + 5000; performance.now() < until; )
    expect((await post(others(receiver.url))).failed).toBeNull();
  abort.abort("cancel");
  await Promise.all(attack);
  await Promise.all([costly.close(), receiver.close()]);
  expect([...errors].toSorted()).toEqual(["stopped", "tls"]);
});

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

test("answers in many small chunks are cut off before they take the thread's memory", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.write(CHUNKED + "1\r\na\r\n".repeat(65_000)));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { post } = new WebhookThread();
  const answers = await Promise.all(Array.from({ length: 60 }, () => post(to(url))));
  server.close();
  expect(new Set(answers.map(({ failed }) => failed?.detail))).toEqual(new Set(["it sent more than 4096 chunks"]));
  expect(answers[0]?.body.toString()).toBe("a".repeat(4097));
});

test("a stopped post returns at once, and the connection to the receiver ends", async () => {
  const receiver = await startReceiver();
  receiver.answer = () => undefined;
  const { post } = new WebhookThread();
  const abort = new AbortController();
  const running = post(to(receiver.url, abort.signal));
  await waitFor(() => receiver.received.length === 1);
  abort.abort("cancel");
  expect((await running).failed?.code).toBe("stopped");
  await waitFor(() => receiver.connections.open === 0);
  expect((await post(to(receiver.url, abort.signal))).failed?.code).toBe("stopped");
  await receiver.close();
});

/** A thread that dies when it gets a post, after it sent a message about the post. */
const dying = (message: string) =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from "node:worker_threads";
      parentPort.once("message", ({ no }) => {
        parentPort.postMessage(${message});
        setTimeout(() => process.exit(3), 100);
      });`)}`,
  );
const UNRELATED = "{ type: 'connected', no: 0 }";

test("posts fail when two threads in a row die, and the next post starts another thread", async () => {
  const [receiver, built] = [await startReceiver(), webhookThreadFile.url];
  const { post } = new WebhookThread();
  webhookThreadFile.url = dying(UNRELATED);
  const failed = await Promise.all([post(to(receiver.url)), post(to(receiver.url))]);
  webhookThreadFile.url = built;
  expect(failed.map((answer) => answer.failed?.code)).toEqual(["network", "network"]);
  expect((await post(to(receiver.url))).statusCode).toBe(204);
  await receiver.close();
});

test.each([
  ["sent by the next thread if it had no connection", UNRELATED, 204, 1],
  ["not sent again if it had a connection", "{ type: 'connected', no }", null, 0],
])("a post whose thread dies is %s", async (_name, message, statusCode, received) => {
  const [receiver, built] = [await startReceiver(), webhookThreadFile.url];
  webhookThreadFile.url = dying(message);
  const posted = new WebhookThread().post(to(receiver.url));
  webhookThreadFile.url = built;
  expect((await posted).statusCode).toBe(statusCode);
  expect(receiver.received).toHaveLength(received);
  await receiver.close();
});
