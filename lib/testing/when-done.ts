import { afterAll, expect, onTestFinished } from "vitest";

/** Runs `cleanUp` after the test that calls this or, outside a test, after the last test of the file. */
export function whenDone(cleanUp: () => unknown): void {
  const isWithinTest = expect.getState().currentTestName !== undefined;
  (isWithinTest ? onTestFinished : afterAll)(async () => void (await cleanUp()));
}
