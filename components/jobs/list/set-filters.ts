import type { JobFilters } from "@/lib/client/jobs/job-filters";

/** Changes some filters in the address and goes back to the newest page. */
export type SetFilters = (change: Partial<JobFilters>, options?: { history: "push" | "replace" }) => void;
