import type { Lease } from "../attempts/types";

/** Returns a text that names one lease: the job and its lease number. */
export const leaseKey = ({ jobId, leaseNo }: Lease): string => `${jobId}:${leaseNo}`;
