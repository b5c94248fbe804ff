import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "@/lib/testing/eventually";
import type { FrontOptions } from "../front";
import { openFront } from "../front.fixture";
import { MOST_BYTES, MOST_LINE_BYTES } from "./unsent-answers";

const MIB = 1024 * 1024;
/** More than the kernel takes of an answer that is not read. */
const ANSWER = Buffer.alloc(8 * MIB, "x");

const get = (address: string, path = "/api/v1/me") =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: ${address}\r\nconnection: close\r\n\r\n`;

/** A front before a framework that answers large requests once `count` of them have arrived. */
async function openLarge(count: number) {
  const waiting: (() => void)[] = [];
  let answered = 0;
  const next: FrontOptions["next"] = () => async (req, res) => {
    if (req.url !== "/api/v1/jobs") return void res.end("small");
    if (waiting.length < count) await new Promise<void>((resolve) => void waiting.push(resolve));
    answered += 1;
    res.end(ANSWER);
  };
  const front = await openFront({ trustedProxies: { hops: 1 }, next });
  const sockets = new Set<Socket>();
  front.server.on("connection", (socket) => sockets.add(socket));
  const unsent = () => [...sockets].reduce((sum, { writableLength }) => sum + writableLength, 0);
  /** Sends a request from each address and reads no answer. */
  const flood = async (addresses: readonly string[]) => {
    for (const address of addresses) (await front.dial(get(address, "/api/v1/jobs"))).pause();
    await eventually(() => expect(waiting).toHaveLength(count));
    for (const answer of waiting) answer();
    await eventually(() => expect(answered).toBe(count));
    await setTimeout(50);
  };
  return { ...front, unsent, flood };
}

test("unread answers of a network hold 64 MiB at most; its new requests are refused, other networks are not", async () => {
  const { ask, unsent, flood, log } = await openLarge(20);
  await flood(Array.from({ length: 20 }, (_, no) => `198.51.100.${no}`));
  expect(unsent()).toBeGreaterThan(MOST_LINE_BYTES / 2);
  expect(unsent()).toBeLessThanOrEqual(MOST_LINE_BYTES);
  expect(await ask(get("198.51.100.77"))).toMatch(/^HTTP\/1.1 503 [\s\S]*retry-after: 2[\s\S]*unread/i);
  expect(await ask(get("198.51.100.77", "/livez"))).toMatch(/^HTTP\/1.1 200 /);
  expect(await ask(get("203.0.113.5"))).toMatch(/^HTTP\/1.1 200 [\s\S]*small/);
  expect((await ask(get("203.0.113.5", "/api/v1/jobs"))).length).toBeGreaterThan(ANSWER.length);
  expect(log.warn).toHaveBeenCalledExactlyOnceWith({ line: "198.51.100.0/24" }, expect.stringContaining("unread"));
});

test("unread answers of all networks hold 128 MiB at most; a network with a slow reader keeps its answer", async () => {
  const { dial, flood, unsent } = await openLarge(41);
  const slow = await dial(get("203.0.113.5", "/api/v1/jobs"));
  slow.pause();
  const read = (async () => {
    let bytes = 0;
    for await (const chunk of slow) {
      bytes += chunk.length;
      await setTimeout(2);
    }
    return bytes;
  })();
  await flood(Array.from({ length: 40 }, (_, no) => `198.51.${no % 4}.1`));
  expect(unsent()).toBeGreaterThan(MOST_BYTES / 2);
  expect(unsent()).toBeLessThanOrEqual(MOST_BYTES);
  expect(await read).toBeGreaterThan(ANSWER.length);
});

test("a network whose answers were read or given up is not refused", async () => {
  const { ask, flood, server, unsent } = await openLarge(8);
  await flood(Array.from({ length: 8 }, () => "198.51.100.1"));
  expect(await ask(get("198.51.100.1"))).toMatch(/^HTTP\/1.1 503 /);
  server.closeAllConnections();
  await eventually(async () => expect(await ask(get("198.51.100.1"))).toMatch(/^HTTP\/1.1 200 /));
  expect(unsent()).toBe(0);
});
