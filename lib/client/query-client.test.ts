import { notifyManager, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { makeQueryClient } from "./query-client";

test("a query whose first answer was an error keeps the error while it is fetched again, until data arrives", async () => {
  let answer: (rows: string | Error) => void = () => {};
  const queryFn = () =>
    new Promise<string>((resolve, reject) => {
      answer = (rows) => (typeof rows === "string" ? resolve(rows) : reject(rows));
    });
  const observer = new QueryObserver(makeQueryClient(), { queryKey: ["list"], queryFn });
  let seen = "";
  // Reads as components do: after a batch of changes.
  const read = notifyManager.batchCalls(() => {
    const { status, isFetching, error, data } = observer.getCurrentResult();
    seen = [status, isFetching ? "fetching" : "", error?.message ?? data ?? ""].filter(Boolean).join(", ");
  });
  const stop = observer.subscribe(read);
  const shows = (state: string) => expect.poll(() => seen).toBe(state);
  read();
  await shows("pending, fetching");
  answer(new Error("broken"));
  await shows("error, broken");
  for (const message of ["broken again", "and again"]) {
    const before = seen;
    void observer.refetch();
    await shows(before.replace("error, ", "error, fetching, "));
    answer(new Error(message));
    await shows(`error, ${message}`);
  }
  void observer.refetch();
  await shows("error, fetching, and again");
  answer("rows");
  await shows("success, rows");
  stop();
});
