import { withDeadline } from "@/lib/async/deadline";

/** Waits until `work` settles, for at most `ms` milliseconds. Never rejects, so that a shutdown continues after a failed step. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  await withDeadline(
    work.catch(() => undefined),
    ms,
  );
}
