import type { TestTriggers } from "@/lib/contract";

/** What is tested: a stored trigger, or one that is being written. */
export type TestTarget = Pick<TestTriggers, "trigger_id" | "draft">;
