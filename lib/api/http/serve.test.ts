import { expect, test, vi } from "vitest";
import { guarded } from "./serve";

const DECLARATION = { access: "open", summary: "A route of this test" } as const;
const CONTEXT = { params: Promise.resolve({}) };
const request = () => new Request("http://localhost/api/v1/slow");

test("answers 503 at the deadline and cancels the body of the late response", async () => {
  const cancel = vi.fn();
  let answer: (response: Response) => void = () => {};
  const late = new Promise<Response>((resolve) => {
    answer = resolve;
  });
  const refused = await guarded(() => late, DECLARATION, 20)(request(), CONTEXT);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("2");
  expect(await refused.json()).toMatchObject({ detail: "The answer took too long." });
  expect(cancel).not.toHaveBeenCalled();
  answer(new Response(new ReadableStream({ cancel })));
  await expect.poll(() => cancel.mock.calls.length).toBe(1);
});

test("returns a response that is ready before the deadline", async () => {
  const handler = guarded(async () => new Response("done"), DECLARATION, 60_000);
  expect(await (await handler(request(), CONTEXT)).text()).toBe("done");
});
