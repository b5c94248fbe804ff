import { expect, test } from "vitest";
import { HandlerRun } from "./run";
import type { HandlerRunContext } from "./run-context";

function recorded() {
  const shown: [number, string | null][] = [];
  const ctx = {
    secrets: [],
    signal: new AbortController().signal,
    onProgress: (percent: number, message: string | null) => void shown.push([percent, message]),
  } as unknown as HandlerRunContext;
  return { run: new HandlerRun(ctx, {}), shown };
}

test("a command's progress never moves the job's progress backwards, before and after the handler's own", () => {
  const { run, shown } = recorded();
  run.showCommand(80, "first command");
  run.showCommand(10, "second command");
  run.context.progress(50, "the handler");
  run.context.progress(90, "the handler");
  run.showCommand(5, "third command");
  run.showCommand(100, "third command");
  expect(shown).toEqual([
    [80, "first command"],
    [80, "second command"],
    [80, "the handler"],
    [90, "the handler"],
    [90, "third command"],
    [90, "third command"],
  ]);
});
