/*
 * Jobs in the browser: queries and mutations, the filters in the address, and job output as safe text. The keys of jobs
 * and dead letters lie below `jobKeys.all`, so invalidating that key refreshes both; bulk actions, definitions and
 * chains have keys of their own. Sequences with an effect in a job's output are dropped (`terminal-text.ts`).
 *
 * Start with `jobKeys` below, then `job-filters.ts`, `job-actions.ts` (actions on many jobs) and `job-output.ts`.
 */

import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type {
  Artifact,
  ArtifactList,
  AttemptList,
  ChangeJob,
  CreateJob,
  EnqueueAnswer,
  Job,
  JobDependencies,
  JobList,
  JobRow,
  JobSummary,
  JobUpdate,
  Step,
  StepList,
} from "@/lib/contract";
import { randomKey } from "../forms/random-key";
import { api, apiRequest } from "../http";
import { queryString } from "../query-string";
import { JOBS_PER_PAGE, type JobFilters, jobListQueryString } from "./job-filters";

export const jobKeys = {
  all: (tenant: string) => ["tenant", tenant, "jobs"] as const,
  lists: (tenant: string) => ["tenant", tenant, "jobs", "list"] as const,
  list: (tenant: string, filters: JobFilters) => ["tenant", tenant, "jobs", "list", filters] as const,
  summary: (tenant: string) => ["tenant", tenant, "jobs", "summary"] as const,
  one: (tenant: string, id: string) => ["tenant", tenant, "jobs", "one", id] as const,
  attempts: (tenant: string, id: string) => ["tenant", tenant, "jobs", "one", id, "attempts"] as const,
  steps: (tenant: string, id: string) => ["tenant", tenant, "jobs", "one", id, "steps"] as const,
  artifacts: (tenant: string, id: string) => ["tenant", tenant, "jobs", "one", id, "artifacts"] as const,
  dependencies: (tenant: string, id: string) => ["tenant", tenant, "jobs", "one", id, "dependencies"] as const,
  children: (tenant: string, id: string) => ["tenant", tenant, "jobs", "one", id, "children"] as const,
};

export function jobListOptions(tenant: string, filters: JobFilters) {
  return queryOptions({
    queryKey: jobKeys.list(tenant, filters),
    queryFn: ({ signal }) => api<JobList>(`/jobs${jobListQueryString(filters, JOBS_PER_PAGE)}`, { tenant, signal }),
  });
}

export function jobSummaryOptions(tenant: string) {
  return queryOptions({
    queryKey: jobKeys.summary(tenant),
    queryFn: ({ signal }) => api<JobSummary>("/jobs/summary", { tenant, signal }),
  });
}

export function jobOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: jobKeys.one(tenant, id),
    queryFn: ({ signal }) => api<Job>(`/jobs/${id}`, { tenant, signal }),
  });
}

/** A job's attempts, latest first, one page at a time. */
export function attemptsOptions(tenant: string, id: string) {
  return infiniteQueryOptions({
    queryKey: jobKeys.attempts(tenant, id),
    initialPageParam: null as string | null,
    queryFn: ({ signal, pageParam }) => {
      const after = pageParam === null ? "" : `&cursor=${encodeURIComponent(pageParam)}`;
      return api<AttemptList>(`/jobs/${id}/attempts?limit=50${after}`, { tenant, signal });
    },
    getNextPageParam: (last) => last.pagination.next_cursor,
  });
}

/** Approximate maximum number of steps shown. */
const STEPS_SHOWN = 1000;

/** A job's steps, read page by page. */
export function stepsOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: jobKeys.steps(tenant, id),
    queryFn: async ({ signal }) => {
      const steps: Step[] = [];
      let after: string | null = null;
      do {
        const page: StepList = await api(`/jobs/${id}/steps${queryString({ after })}`, { tenant, signal });
        steps.push(...page.data);
        after = page.next_after;
      } while (after !== null && steps.length < STEPS_SHOWN);
      return steps;
    },
  });
}

export function artifactsOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: jobKeys.artifacts(tenant, id),
    queryFn: ({ signal }) => api<ArtifactList>(`/jobs/${id}/artifacts`, { tenant, signal }),
  });
}

/** Returns the URL at which a browser downloads an artifact. A link sends no headers, so the URL names the tenant. */
export function artifactUrl(tenant: string, { id, job_id }: Artifact): string {
  return `/api/v1/jobs/${job_id}/artifacts/${id}?tenant=${encodeURIComponent(tenant)}`;
}

export function useDeleteArtifact(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, job_id }: Artifact) =>
      api<Artifact>(`/jobs/${job_id}/artifacts/${id}`, { tenant, method: "DELETE" }),
    onSettled: (_answer, _error, { job_id }) =>
      client.invalidateQueries({ queryKey: jobKeys.artifacts(tenant, job_id) }),
  });
}

export function dependenciesOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: jobKeys.dependencies(tenant, id),
    queryFn: ({ signal }) => api<JobDependencies>(`/jobs/${id}/dependencies`, { tenant, signal }),
  });
}

/** The first jobs that this job enqueued. */
export function childrenOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: jobKeys.children(tenant, id),
    queryFn: ({ signal }) => api<JobList>(`/jobs?parent_job_id=${id}&limit=20`, { tenant, signal }),
  });
}

/** Returns the row after a pushed change. Fields that the push does not carry are unchanged until the next fetch. */
export function applyChange<T extends JobRow>(row: T, change: JobUpdate): T {
  if (row.id !== change.id) return row;
  const left = row.status !== change.status;
  return { ...row, ...change, wait_reason: left ? null : row.wait_reason };
}

/** Returns the attempts of this run, including the running one, which counts as spent only when it ends. */
export function attemptsSoFar(job: JobRow): number {
  return job.attempt_count + (job.status === "running" ? 1 : 0);
}

export type JobVerb = "cancel" | "retry" | "pause" | "resume";

/** Runs an action that takes no parameters on a job, and refreshes what shows the job. */
export function useJobAction(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, action }: { id: string; action: JobVerb }) =>
      api<Job>(`/jobs/${id}/${action}`, { tenant, method: "POST", body: {}, idempotencyKey: randomKey() }),
    onSuccess: (job) => client.setQueryData(jobKeys.one(tenant, job.id), job),
    onSettled: () => void client.invalidateQueries({ queryKey: jobKeys.all(tenant) }),
  });
}

/** Changes a waiting job's priority or time. */
export function useChangeJob(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, change }: { id: string; change: ChangeJob }) =>
      api<Job>(`/jobs/${id}`, { tenant, method: "PATCH", body: change }),
    onSuccess: (job) => client.setQueryData(jobKeys.one(tenant, job.id), job),
    onSettled: () => void client.invalidateQueries({ queryKey: jobKeys.all(tenant) }),
  });
}

/** Creates a new job from a finished one, with another payload. The same key sent twice creates one job. */
export function useEditAndRetry(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, payload, key }: { id: string; payload: unknown; key: string }) =>
      api<Job>(`/jobs/${id}/retry`, { tenant, method: "POST", body: { payload }, idempotencyKey: key }),
    onSuccess: () => void client.invalidateQueries({ queryKey: jobKeys.all(tenant) }),
  });
}

/**
 * Enqueues a job. The same key sent twice creates one job. `deduplicated` is true when another job holds the dedupe
 * key.
 */
export function useCreateJob(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ body, key }: { body: CreateJob; key: string }) =>
      (await apiRequest<EnqueueAnswer>("/jobs", { tenant, method: "POST", body, idempotencyKey: key })).data,
    onSuccess: () => void client.invalidateQueries({ queryKey: jobKeys.all(tenant) }),
  });
}
