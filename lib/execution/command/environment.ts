import type { RunContext } from "../types";

/** Returns a command's whole environment: these variables, and those that its registry entry declares. */
export function commandEnvironment(
  ctx: Pick<RunContext, "jobId" | "attemptNo" | "idempotencyKey" | "chainDepth">,
  folder: string,
  declared: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    PATH: "/usr/bin:/bin",
    LANG: "C.UTF-8",
    ...declared,
    HOME: folder,
    TMPDIR: folder,
    JOB_ID: ctx.jobId,
    ATTEMPT: String(ctx.attemptNo),
    IDEMPOTENCY_KEY: ctx.idempotencyKey,
    LEASEHOLD_CHAIN: String(ctx.chainDepth ?? 0),
  };
}
