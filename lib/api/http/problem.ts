import { PROBLEMS, type Problem, type ProblemCode, type ProblemError } from "@/lib/contract";
import type { JobStatus } from "@/lib/queue/states";

const MAX_ERRORS = 20;

interface ProblemOptions {
  detail?: string;
  errors?: ProblemError[];
  headers?: Record<string, string>;
  currentStatus?: JobStatus;
}

/** An intentional error answer. Thrown anywhere below a route; the route's edge turns it into problem+json. */
export class HttpProblem extends Error {
  readonly status: number;
  readonly errors: ProblemError[] | undefined;
  readonly headers: Record<string, string>;
  readonly currentStatus: JobStatus | undefined;

  constructor(
    readonly code: ProblemCode,
    options: ProblemOptions = {},
  ) {
    super(options.detail ?? PROBLEMS[code][1]);
    this.status = PROBLEMS[code][0];
    this.errors = options.errors;
    this.headers = options.headers ?? {};
    this.currentStatus = options.currentStatus;
  }
}

/** Returns the body of a problem as it is sent. */
export function problemBody(problem: HttpProblem, instance: string, requestId: string): Problem {
  return {
    type: `/docs/errors/${problem.code}`,
    title: PROBLEMS[problem.code][1],
    status: problem.status,
    detail: problem.message,
    instance,
    code: problem.code,
    request_id: requestId,
    ...(problem.errors ? { errors: problem.errors } : {}),
    ...(problem.currentStatus ? { current_status: problem.currentStatus } : {}),
  };
}

/** The one answer for a resource that does not exist and for one of another tenant. */
export function notFound(): HttpProblem {
  return new HttpProblem("not-found", { detail: "The resource does not exist, or you have no access to it." });
}

/** Refuses a parent that is not a job of the tenant, with the same answer for a foreign and a missing job. */
export async function requireParent(id: string | undefined, find: (id: string) => Promise<unknown>): Promise<void> {
  if (id === undefined || (await find(id))) return;
  const errors = [{ pointer: "/parent_job_id", code: "job-unknown", detail: "is not a known job" }];
  throw new HttpProblem("validation-failed", { errors });
}

/** The same for the items of a bulk, with one query. */
export async function requireParents(
  jobs: readonly { readonly parent_job_id?: string | undefined }[],
  findKnown: (ids: string[]) => Promise<ReadonlySet<string>>,
): Promise<void> {
  const ids = [...new Set(jobs.flatMap((job) => job.parent_job_id ?? []))];
  if (ids.length === 0) return;
  const known = await findKnown(ids);
  const errors = jobs.flatMap(({ parent_job_id: id }, index) =>
    id === undefined || known.has(id)
      ? []
      : [{ pointer: `/jobs/${index}/parent_job_id`, code: "job-unknown", detail: "is not a known job" }],
  );
  if (errors.length > 0) throw new HttpProblem("validation-failed", { errors: errors.slice(0, MAX_ERRORS) });
}
