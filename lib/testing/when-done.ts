import { afterAll, onTestFinished, TestRunner } from "vitest";

/** Runs `cleanUp` after the calling test or, outside a test, after the last test of the file. */
export function whenDone(cleanUp: () => unknown): void {
  const later = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  later(async () => void (await cleanUp()));
}
