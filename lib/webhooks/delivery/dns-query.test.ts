import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { queryAddresses } from "./dns-query";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A name server that sends what `answer` returns for a query. */
async function serverOf(answer: (query: Buffer) => readonly Buffer[]): Promise<string> {
  const socket = createSocket("udp4");
  closers.push(() => socket.close());
  socket.on("message", (query, { port, address }) => {
    for (const message of answer(query)) socket.send(message, port, address);
  });
  await once(socket.bind(0, "127.0.0.1"), "listening");
  return `127.0.0.1:${(socket.address() as AddressInfo).port}`;
}

const NAME = "hooks.example.test";
/** Header, name, type and class. */
const QUESTION_END = 12 + NAME.length + 2 + 4;
const V4 = [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 93, 184, 215, 14];
const V6 = [0xc0, 0x0c, 0, 28, 0, 1, 0, 0, 0, 9, 0, 16, 0x26, 6, 0x28, 0, 2, 0x1f, 0xcb, 7, 0, 0, 0, 0, 0, 0, 0, 1];
/** An alias, whose target is `a` within the question's name. */
const ALIAS = [0xc0, 0x0c, 0, 5, 0, 1, 0, 0, 0, 9, 0, 4, 1, 97, 0xc0, 0x0c];
const hasEdns = (query: Buffer) => query.readUInt16BE(10) === 1;

function answerTo(query: Buffer, records: readonly (readonly number[])[], flags = 0x8180): Buffer {
  const head = Buffer.from(query.subarray(0, QUESTION_END));
  head.writeUInt16BE(flags, 2);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, Buffer.from(records.flat())]);
}

test.each([
  [4, ["93.184.215.14"]],
  [6, ["2606:2800:21f:cb07:0:0:0:1"]],
] as const)("returns the IPv%i addresses of an answer with an alias", async (family, addresses) => {
  const server = await serverOf((query) => [answerTo(query, [ALIAS, V4, V6])]);
  expect(await queryAddresses(NAME, family, [server])).toEqual({ addresses, error: null });
});

test.each([
  ["no address", (query: Buffer) => answerTo(query, [ALIAS]), "ENODATA"],
  ["an unknown name", (query: Buffer) => answerTo(query, [], 0x8183), "ENOTFOUND"],
  ["a failure", (query: Buffer) => answerTo(query, [], 0x8182), "ESERVFAIL"],
  ["a truncated answer", (query: Buffer) => answerTo(query, [V4], 0x8380), "ETOOLONG"],
  ["an answer of 80 addresses", (query: Buffer) => answerTo(query, Array(80).fill(V4)), "ETOOLONG"],
  ["a record that ends early", (query: Buffer) => answerTo(query, [V4.slice(0, -1)]), "EBADRESP"],
  ["fewer records than it says", (query: Buffer) => answerTo(query, [V4, []]), "EBADRESP"],
  ["a name that does not end", (query: Buffer) => answerTo(query, [Array(60).fill(63)]), "EBADRESP"],
] as const)("%s is an error", async (_what, answer, error) => {
  const server = await serverOf((query) => [answer(query)]);
  expect(await queryAddresses(NAME, 4, [server])).toEqual({ addresses: [], error });
});

test("answers to other queries do not count", async () => {
  const server = await serverOf((query) => {
    const [otherId, otherName] = [answerTo(query, [V4]), answerTo(query, [V4])];
    otherId.writeUInt16BE((query.readUInt16BE(0) + 1) & 0xffff, 0);
    otherName.write("b", 13);
    return [Buffer.alloc(0), query, otherId, otherName, answerTo(query, [], 0x8183)];
  });
  expect((await queryAddresses(NAME, 4, [server])).error).toBe("ENOTFOUND");
});

test("a server that does not know EDNS is asked without it", async () => {
  const server = await serverOf((query) => [hasEdns(query) ? answerTo(query, [], 0x8181) : answerTo(query, [V4])]);
  expect((await queryAddresses(NAME, 4, [server])).error).toBeNull();
});

test("the next server is asked when one fails or does not answer", async () => {
  const silent = await serverOf(() => []);
  const failing = await serverOf((query) => [answerTo(query, [], 0x8185)]);
  const server = await serverOf((query) => [answerTo(query, [V4])]);
  expect((await queryAddresses(NAME, 4, [silent, failing, server])).error).toBeNull();
});

test("servers that do not answer take three seconds at most", async () => {
  const [one, two] = [await serverOf(() => []), await serverOf(() => [])];
  const began = performance.now();
  expect((await queryAddresses(NAME, 4, [one, two])).error).toBe("ETIMEOUT");
  expect(performance.now() - began).toBeLessThan(3000 * 5);
  expect((await queryAddresses(NAME, 4, ["127.0.0.1:1"])).error).toBe("ECONNREFUSED");
});

test.each(["a..test", ".test", `${"a".repeat(64)}.test`, `${"a.".repeat(130)}test`])(
  "%s is not a name",
  async (host) => {
    expect((await queryAddresses(host, 4, [])).error).toBe("EBADNAME");
  },
);
