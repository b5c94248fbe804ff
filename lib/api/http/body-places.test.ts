import { expect, test } from "vitest";
import { LIMITS } from "@/lib/contract";
import { runInLine } from "@/lib/db";
import { readCapturedJson, readJson } from "./input";
import { guarded } from "./serve";

const DECLARATION = { access: "open", summary: "A route of this test" } as const;
const CONTEXT = { params: Promise.resolve({}) };

const bodyOf = (objects: number) =>
  new TextEncoder().encode(`[${Array.from({ length: objects }, () => "{}").join(",")}]`);
const [SHORT, LONG, LONGEST] = [bodyOf(1), bodyOf(12_000), bodyOf(180_000)];

/** Bodies that were asked for by requests whose work has not ended. */
const kept = { now: 0, most: 0 };

function post(body: Uint8Array<ArrayBuffer>): Request {
  const asked = () => {
    kept.now += 1;
    kept.most = Math.max(kept.most, kept.now);
  };
  const stream = new ReadableStream(
    {
      pull: (controller) => {
        asked();
        controller.enqueue(body);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  return new Request("http://x/", { method: "POST", body: stream, headers, duplex: "half" } as RequestInit);
}

/** A route that works on the body for as long as `holds`. */
const routeIn = (line: string, withinMs: number, { holds }: { holds?: Promise<void> } = {}) =>
  guarded(
    async (request) => {
      try {
        await runInLine(line, async () => {
          await readJson(request, LIMITS.bodyBytes, LIMITS.bulkNodes);
          await holds;
        });
        return new Response("read");
      } finally {
        if (request.bodyUsed) kept.now -= 1;
      }
    },
    DECLARATION,
    withinMs,
  );

test("bodies of requests that were answered 503 are bounded, and none is kept once the work has ended", async () => {
  const route = routeIn("a", 100);
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(Array.from({ length: 40 }, () => route(post(LONGEST), CONTEXT)));
    expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThan(20);
    for (const answer of answers) await answer.body?.cancel();
  }
  expect(kept.most).toBeLessThanOrEqual(16);
  await expect.poll(() => kept.now).toBe(0);
});

test("a place stays taken after the 503 until the work ends; other lines and short bodies need not wait", async () => {
  let end = () => {};
  const holds = new Promise<void>((resolve) => {
    end = resolve;
  });
  const holding = routeIn("a", 1500, { holds });
  const late = await Promise.all([1, 2, 3].map(() => holding(post(LONG), CONTEXT)));
  expect(late.map(({ status }) => status)).toEqual([503, 503, 503]);
  const statusIn = async (line: string, body = LONG) => (await routeIn(line, 2500)(post(body), CONTEXT)).status;
  expect(await Promise.all([statusIn("a"), statusIn("b"), statusIn("a", SHORT)])).toEqual([503, 200, 200]);
  end();
  expect(await statusIn("a")).toBe(200);
});

test("a result of a worker that is abandoned is not called malformed", async () => {
  const reading: Promise<unknown>[] = [];
  const route = guarded(
    async (request) => {
      reading.push(readCapturedJson(request, () => undefined));
      await reading[0];
      return new Response("read");
    },
    DECLARATION,
    1,
  );
  expect((await route(post(LONGEST), CONTEXT)).status).toBe(503);
  await expect(reading[0]).rejects.toMatchObject({ code: "unavailable" });
});
