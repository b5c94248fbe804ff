import type { JobFilters } from "@/lib/client/jobs/job-filters";

/** Changes some filters in the address and returns to the newest page. */
export type SetFilters = (change: Partial<JobFilters>, options?: { history: "push" | "replace" }) => void;
