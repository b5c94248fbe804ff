import { randomBytes } from "node:crypto";
import { once, setMaxListeners } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { longestTurn } from "@/lib/testing/measure/longest-turn";
import { mainThreadMs } from "@/lib/testing/measure/main-thread";
import { waitFor } from "@/lib/testing/processes";
import { costlyChain, der, startTlsReceiver } from "./costly-tls.fixture";
import { deliverMessage } from "./deliver-message";
import { readInPieces } from "./in-pieces";
import { startReceiver } from "./receiver.fixture";
import { post } from "./send";
import { newWebhookSecret } from "./signature";

const around = { policy: { allowHttp: true, loopback: ["127.0.0.1:*"] }, signal: new AbortController().signal };
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/** Answers with a text, and then with another one without end. */
async function endless(head: string, part: string) {
  const bytes = Buffer.from(part.repeat(Math.ceil(65_536 / part.length)));
  const server = createServer((socket) => {
    const write = () => {
      while (socket.write(bytes));
    };
    socket.on("error", () => undefined).on("drain", write);
    socket.once("data", () => {
      socket.write(head);
      write();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() };
}

test.each([
  ["interim answers", "", "HTTP/1.1 103 \r\n\r\n", "bad_response"],
  ["interim answers that tell it to go on", "", "HTTP/1.1 100 Continue\r\n\r\n", "bad_response"],
  ["another protocol", "HTTP/1.1 101 \r\nconnection: upgrade\r\nupgrade: a\r\n\r\n", "a", "bad_response"],
  ["a line", "HTTP/1.1 200 OK\r\nx: ", "a", "bad_response"],
  ["headers", "HTTP/1.1 200 OK\r\n", "a: b\r\n", "bad_response"],
  ["trailers", `${CHUNKED}1\r\na\r\n0\r\n`, "a: b\r\n", "bad_response"],
  ["an extension of a chunk", `${CHUNKED}1;`, "a", "bad_response"],
  ["chunks with extensions", CHUNKED, "1;a=b\r\na\r\n", "bad_response"],
  ["a size of a chunk", CHUNKED, "0", "too_large"],
  ["blanks before a value", "HTTP/1.1 200 OK\r\nx:", " ", "too_large"],
  ["blank lines before the answer", "", "\r\n", "too_large"],
])("a receiver that sends %s without end is cut off long before the time limit", async (_name, head, part, code) => {
  const receiver = await endless(head, part);
  const limits = { connectMs: 20_000, totalMs: 20_000, responseBytes: 64 * 1024 };
  const { failed, durationMs } = await post({
    tenantId: "acme",
    url: receiver.url,
    headers: {},
    body: "{}",
    ...around,
    limits,
  });
  receiver.close();
  expect(failed?.code).toBe(code);
  expect(durationMs).toBeLessThan(limits.totalMs / 2);
});

test("a few interim answers before the final one are skipped", async () => {
  const receiver = await startReceiver();
  receiver.answer = (_request, response) => {
    response.writeProcessing();
    response.writeContinue();
    response.end("ok");
  };
  const answer = await post({ tenantId: "acme", url: receiver.url, headers: {}, body: "{}", ...around });
  expect(answer).toMatchObject({ statusCode: 200, failed: null, body: Buffer.from("ok") });
  await receiver.close();
});

test("a destroyed socket returns no further data that it has read", async () => {
  const receiver = await endless("", "a");
  const socket = connect(Number(new URL(receiver.url).port), "127.0.0.1");
  const sizes: number[] = [];
  let counted = 0;
  readInPieces(socket, (bytes) => {
    counted += bytes;
  });
  socket.on("data", ({ length }: Buffer) => {
    sizes.push(length);
    if (sizes.length === 2) socket.destroy();
  });
  socket.write("a");
  await once(socket, "close");
  receiver.close();
  expect([sizes, counted]).toEqual([[4096, 4096], 8192]);
});

test("a delivery with twenty long headers repeated by the receiver yields the event loop", async () => {
  const receiver = await startReceiver();
  const value = "\"$&'`\\+/=~!*(#".repeat(50);
  receiver.answer = (_request, response) => void response.end(value);
  const headers = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`x-h${n}`, `${value}${n}`]));
  const message = { id: "m", type: "a", body: JSON.stringify({ type: "a", data: "x".repeat(2000) }) };
  const run = () =>
    deliverMessage(
      { tenantId: "acme", message, url: receiver.url, secrets: [newWebhookSecret()], headers, ownHeaders: {} },
      around,
    );
  expect((await run()).answer.failed).toBeNull();
  const turns = [await longestTurn(run), await longestTurn(run), await longestTurn(run)];
  expect(Math.min(...turns.map(({ longestMs }) => longestMs))).toBeLessThan(60);
  await receiver.close();
});

test("key exchange with the receiver's own parameters is refused: 10,000 bits would take seconds", async () => {
  const modulus = randomBytes(1024).map((byte, at) => (at === 0 || at === 1023 ? byte | 0x81 : byte));
  const numbers = der(0x30, der(0x02, Buffer.from([0]), Buffer.from(modulus)), der(0x02, Buffer.from([2])));
  const dhparam = `-----BEGIN DH PARAMETERS-----\n${numbers.toString("base64")}\n-----END DH PARAMETERS-----\n`;
  const ciphers = "DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0";
  const receiver = await startTlsReceiver({ ...costlyChain(1), dhparam, ciphers, maxVersion: "TLSv1.2" });
  const { failed } = await post({ tenantId: "acme", url: receiver.url, headers: {}, body: "{}", ...around });
  expect(failed?.code).toBe("tls");
  await waitFor(() => receiver.errors.length > 0);
  expect(receiver.errors).toEqual(["ERR_SSL_NO_SHARED_CIPHER"]);
  await receiver.close();
});

test.runIf(process.platform === "linux")(
  "costly certificates of one tenant's receivers take about a third of the thread that checks them",
  async () => {
    const receiver = await startTlsReceiver(costlyChain(11));
    const abort = new AbortController();
    setMaxListeners(20, abort.signal);
    const limits = { connectMs: 30_000, totalMs: 30_000, responseBytes: 64 * 1024 };
    const message = { tenantId: "hostile", url: receiver.url, headers: {}, body: "{}", limits };
    const [began, before] = [performance.now(), mainThreadMs()];
    const attack = Array.from({ length: 20 }, async () => {
      while (!abort.signal.aborted) await post({ ...message, policy: around.policy, signal: abort.signal });
    });
    await sleep(5000);
    const share = (mainThreadMs() - before) / (performance.now() - began);
    abort.abort();
    await Promise.all(attack);
    await receiver.close();
    expect(share).toBeGreaterThan(0.02);
    expect(share).toBeLessThan(0.6);
  },
);
