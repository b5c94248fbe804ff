import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { HealthTurns } from "./health-turns";

const request = (socket = new Socket()) => ({ socket }) as IncomingMessage;

test("a client that left frees its turn, and does not get one", async () => {
  const turns = new HealthTurns();
  const sockets = Array.from({ length: 4 }, () => new Socket());
  let begun = 0;
  const silent = () => {
    begun += 1;
    return new Promise<void>(() => undefined);
  };
  const left = sockets.map((socket) => turns.run(request(socket), silent));
  const last = turns.run(request(), async () => undefined);
  for (const socket of sockets) socket.destroy();
  await Promise.all([...left, last]);
  expect(begun).toBe(2);
});

test("two run at once, in order of arrival, and failures give their turn back", async () => {
  const turns = new HealthTurns();
  const [order, atOnce]: [number[], number[]] = [[], []];
  let running = 0;
  const work = async (no: number) => {
    order.push(no);
    running += 1;
    atOnce.push(running);
    await setImmediate();
    running -= 1;
    if (no % 2 === 0) throw new Error("failed");
  };
  const all = await Promise.allSettled(Array.from({ length: 20 }, (_, no) => turns.run(request(), () => work(no))));
  expect(all.map(({ status }) => status)).toEqual(all.map((_, no) => (no % 2 === 0 ? "rejected" : "fulfilled")));
  expect(order).toEqual(all.map((_, no) => no));
  expect(Math.max(...atOnce)).toBe(2);
});
