import type { TestTriggers } from "@/lib/contract";

/** The tested trigger: a stored one, or one that is being composed. */
export type TestTarget = Pick<TestTriggers, "trigger_id" | "draft">;
