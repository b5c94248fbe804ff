import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { CLIENT_IP_HEADER } from "@/lib/api/http/request-info";
import { HealthTurns } from "./health-turns";

/** A request of an address; its response counts as closed when the test says so. */
function request(ip: string) {
  const req = new IncomingMessage(new Socket());
  req.headers[CLIENT_IP_HEADER] = ip;
  const res = new ServerResponse(req);
  const close = () => {
    res.destroyed = true;
    res.emit("close");
  };
  return { req, res, close };
}

const silent = () => new Promise<void>(() => undefined);

test("a client that left frees its turn, and does not get one", async () => {
  const turns = new HealthTurns();
  const requests = [1, 2, 3, 4].map((no) => request(`198.51.${no}.1`));
  let begun = 0;
  const left = requests.map((exchange) =>
    turns.run("/livez", exchange, () => {
      begun += 1;
      return silent();
    }),
  );
  const last = turns.run("/livez", request("198.51.100.1"), async () => undefined);
  await setImmediate();
  for (const { close } of requests) close();
  await Promise.all([...left, last]);
  expect(begun).toBe(2);
});

test("a turn ends when the answer is complete, although the framework waits for its reader", async () => {
  const turns = new HealthTurns();
  for (const no of [1, 2, 3]) {
    const exchange = request(`198.51.${no}.1`);
    void turns.run("/livez", exchange, () => {
      exchange.res.end("live");
      return silent();
    });
  }
  const work = vi.fn(async () => undefined);
  await turns.run("/livez", request("198.51.100.1"), work);
  expect(work).toHaveBeenCalledOnce();
});

test("readiness that waits does not delay liveness", async () => {
  const turns = new HealthTurns();
  for (const no of [1, 2, 3]) void turns.run("/readyz", request(`198.51.${no}.1`), silent);
  const work = vi.fn(async () => undefined);
  await turns.run("/livez", request("198.51.1.1"), work);
  expect(work).toHaveBeenCalledOnce();
});

test("two networks run at once, and failures give their turn back", async () => {
  const turns = new HealthTurns();
  const atOnce: number[] = [];
  let running = 0;
  const work = async (no: number) => {
    running += 1;
    atOnce.push(running);
    await setImmediate();
    running -= 1;
    if (no % 2 === 0) throw new Error("failed");
  };
  const all = await Promise.allSettled(
    Array.from({ length: 20 }, (_, no) => turns.run("/livez", request(`198.51.${no % 10}.1`), () => work(no))),
  );
  expect(all.map(({ status }) => status)).toEqual(all.map((_, no) => (no % 2 === 0 ? "rejected" : "fulfilled")));
  expect(Math.max(...atOnce)).toBe(2);
});

test("a flood from one network delays no other, and gets 503 beyond twenty waiting requests", async () => {
  const turns = new HealthTurns();
  const order: string[] = [];
  const ask = (ip: string) => {
    const exchange = request(ip);
    const settled = turns.run("/livez", exchange, async () => {
      order.push(ip);
      await setImmediate();
    });
    return { settled, res: exchange.res };
  };
  const flood = Array.from({ length: 200 }, (_, no) => ask(`198.51.100.${no}`));
  const probe = ask("203.0.113.5");
  await probe.settled;
  expect(order.length).toBeLessThan(4);
  await Promise.all(flood.map(({ settled }) => settled));
  expect(flood.filter(({ res }) => res.statusCode === 503)).toHaveLength(179);
});
