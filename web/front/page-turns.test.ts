import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CLIENT_IP_HEADER } from "@/lib/api/http/request-info";
import { deviceCookie } from "@/lib/auth/device";
import { eventually } from "@/lib/testing/eventually";
import { PageTurns } from "./page-turns";

const settings = { origin: "http://localhost", deviceSecret: "a secret of this test" };
const [ONE, OTHER, THIRD] = ["198.51.100.1", "203.0.113.1", "192.0.2.1"] as const;

/** Callers of one process. Each page is named, and renders until the test ends it. */
function openPages() {
  const turns = new PageTurns(() => settings);
  const begun: string[] = [];
  const under = new Map<string, { end(): void; fail(error: Error): void }>();
  const ask = async (name: string, from: string, cookie = "") => {
    const req = new IncomingMessage(new Socket());
    Object.assign(req, { method: "GET", url: name, headers: { [CLIENT_IP_HEADER]: from, cookie } });
    const res = new ServerResponse(req);
    const render = () =>
      new Promise<void>((resolve, reject) => {
        begun.push(name);
        under.set(name, { end: resolve, fail: reject });
      });
    const answered = turns.render(req, res, render);
    await setImmediate();
    return { res, answered };
  };
  const end = async (name: string) => {
    under.get(name)?.end();
    await setImmediate();
  };
  const fail = async (name: string) => {
    under.get(name)?.fail(new Error("of this test"));
    await setImmediate();
  };
  return { begun, ask, end, fail };
}

/** The head of an answer without a connection. */
const headOf = (res: ServerResponse) => (res as unknown as { _header: string | null })._header ?? "";

describe("while no page waits for the database", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  test("one page of a network and two in all are rendered at a time, and networks take turns", async () => {
    const { begun, ask, end } = openPages();
    await ask("/1", ONE);
    await ask("/2", "198.51.100.2");
    await ask("/3", ONE);
    await ask("/a", OTHER);
    await ask("/b", OTHER);
    await ask("/x", THIRD);
    expect(begun).toEqual(["/1", "/a"]);
    await end("/1");
    expect(begun).toEqual(["/1", "/a", "/2"]);
    await end("/a");
    await end("/b");
    expect(begun).toEqual(["/1", "/a", "/2", "/b", "/x"]);
    await end("/x");
    await end("/2");
    expect(begun.at(-1)).toBe("/3");
  });

  test("a page for a known browser precedes those of strangers in the same network", async () => {
    const { begun, ask, end } = openPages();
    const cookie = deviceCookie(null, "max@example.test", settings).split(";")[0] ?? "";
    await ask("/1", ONE);
    await ask("/a", OTHER);
    for (const name of ["/2", "/3"]) await ask(name, ONE);
    await ask("/known", ONE, cookie);
    await end("/1");
    expect(begun).toEqual(["/1", "/a", "/known"]);
  });

  test("a hundred pages of a network wait; one more answers 429, and another network's is rendered", async () => {
    const { begun, ask } = openPages();
    for (let index = 0; index < 101; index += 1) await ask(`/${index}`, ONE);
    const { res, answered } = await ask("/more?a=1", ONE);
    await answered;
    expect(headOf(res)).toMatch(/^HTTP\/1\.1 429 .*retry-after: 2\r\n/s);
    await ask("/other", OTHER);
    expect(begun).toEqual(["/0", "/other"]);
  });

  test("a page that waits ten seconds for its turn answers 503 with Retry-After", async () => {
    const { ask } = openPages();
    await ask("/1", ONE);
    const { res, answered } = await ask("/late", ONE);
    vi.advanceTimersByTime(9_999);
    await setImmediate();
    expect(headOf(res)).toBe("");
    vi.advanceTimersByTime(1);
    await answered;
    expect(headOf(res)).toMatch(/^HTTP\/1\.1 503 .*retry-after: 2\r\n/s);
  });

  test("a page whose client disconnected is not rendered", async () => {
    const { begun, ask, end } = openPages();
    await ask("/1", ONE);
    const { res } = await ask("/gone", ONE);
    await ask("/last", ONE);
    res.destroy();
    await end("/1");
    expect(begun).toEqual(["/1", "/last"]);
  });

  test("a page that fails ends its turn", async () => {
    const { begun, ask, fail } = openPages();
    const { answered } = await ask("/fails", ONE);
    const failed = expect(answered).rejects.toThrow("of this test");
    await ask("/1", ONE);
    await fail("/fails");
    await failed;
    expect(begun).toEqual(["/fails", "/1"]);
  });
});

test("pages that wait for the database do not keep others from being rendered", async () => {
  const { begun, ask } = openPages();
  for (let index = 0; index < 10; index += 1) await ask(`/${index}`, index % 2 ? ONE : OTHER);
  expect(begun).toHaveLength(2);
  await eventually(() => expect(begun).toHaveLength(10));
});

test("a page that keeps the event loop busy keeps its turn", async () => {
  const { begun, ask, end } = openPages();
  await ask("/1", ONE);
  await ask("/2", ONE);
  for (const until = performance.now() + 500; performance.now() < until; ) await setImmediate();
  expect(begun).toEqual(["/1"]);
  await end("/1");
  expect(begun).toEqual(["/1", "/2"]);
});
