import { withDeadline } from "@/lib/async/deadline";

/** Waits until `work` settles, for at most `ms` milliseconds. Never rejects: a failed step does not stop a shutdown. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  await withDeadline(
    work.catch(() => undefined),
    ms,
  );
}
