import { afterEach, expect, test, vi } from "vitest";
import { eventually } from "@/lib/testing/eventually";
import { AccessWatch, type Watched } from "./access-watch";

const leaving: (() => void)[] = [];
afterEach(() => {
  for (const leave of leaving.splice(0)) leave();
  vi.useRealTimers();
});

function stage() {
  const marks = new Map([["s1", "viewer"]]);
  let hear: (userId: string) => void = () => {};
  const source = {
    marks: vi.fn(async () => marks),
    listen: vi.fn((onChange: (userId: string) => void) => {
      hear = onChange;
      return () => {};
    }),
    onError: vi.fn(),
  };
  const watch = new AccessWatch(source, 10);
  const open = (credential = "s1", userId = "ada") => {
    const watched = { userId, credential, kind: "session", recheck: vi.fn(async () => {}) } satisfies Watched;
    const leave = watch.add(watched);
    leaving.push(leave);
    return { ...watched, leave };
  };
  return { marks, source, open, notify: (userId: string) => hear(userId) };
}

test("a stream is rechecked when its credential changes or ends, and not otherwise", async () => {
  const { marks, source, open } = stage();
  const stream = open();
  await eventually(() => expect(stream.recheck).toHaveBeenCalledTimes(1));
  const looks = source.marks.mock.calls.length;
  await eventually(() => expect(source.marks.mock.calls.length).toBeGreaterThan(looks + 3));
  expect(stream.recheck).toHaveBeenCalledTimes(1);
  marks.set("s1", "admin");
  await eventually(() => expect(stream.recheck).toHaveBeenCalledTimes(2));
  marks.delete("s1");
  await eventually(() => expect(stream.recheck.mock.calls.length).toBeGreaterThan(2));
});

test("a notification rechecks one user's streams at once, or all", async () => {
  const { open, notify } = stage();
  const [ada, max] = [open(), open("s1", "max")];
  notify("ada");
  expect([ada.recheck.mock.calls.length, max.recheck.mock.calls.length]).toEqual([1, 0]);
  notify("*");
  expect(max.recheck).toHaveBeenCalledTimes(1);
});

test("a failed recheck is repeated, and a failed query too", async () => {
  const { source, open } = stage();
  source.marks.mockRejectedValueOnce(new Error("away"));
  const stream = open();
  stream.recheck.mockRejectedValueOnce(new Error("away"));
  await eventually(() => expect(stream.recheck).toHaveBeenCalledTimes(2));
  expect(source.onError).toHaveBeenCalledTimes(2);
});

test("the database is polled only while a stream is open", async () => {
  vi.useFakeTimers();
  const { source, open } = stage();
  const stream = open();
  await vi.advanceTimersByTimeAsync(25);
  expect(source.marks).toHaveBeenCalledTimes(2);
  stream.leave();
  await vi.advanceTimersByTimeAsync(1000);
  expect(source.marks).toHaveBeenCalledTimes(2);
});

test("a stream that opens and closes during a poll starts no second poll", async () => {
  vi.useFakeTimers();
  const { marks, source, open } = stage();
  const first = open();
  let answer: (found: Map<string, string>) => void = () => {};
  source.marks.mockImplementationOnce(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  await vi.advanceTimersByTimeAsync(15);
  first.leave();
  open();
  answer(marks);
  await vi.advanceTimersByTimeAsync(1000);
  expect(source.marks.mock.calls.length).toBeLessThanOrEqual(101);
});
