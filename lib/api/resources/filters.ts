import { type JobListQuery, LIMITS, type LogQuery } from "@/lib/contract";
import type { JobFilter, LogStream } from "@/lib/queue/types";

/** Converts the query of a job list to the queue's filter. */
export const jobFilter = ({ source, ...query }: Omit<JobListQuery, "limit" | "offset" | "cursor">): JobFilter =>
  defined({ ...query, source: source === undefined ? undefined : [source] });

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Drops undefined members, because the queue fills in defaults only for absent ones. */
export function defined<T extends object>(value: T): Partial<Defined<T>> & Pick<Defined<T>, RequiredKeys<T>> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<Defined<T>> &
    Pick<Defined<T>, RequiredKeys<T>>;
}
type RequiredKeys<T> = { [K in keyof T]: undefined extends T[K] ? never : K }[keyof T];

/** Returns where a reader of logs continues; `after` is `<attempt>:<seq>`. */
export function logPosition(query: LogQuery): LogPosition {
  const [attempt_no, seq] = (query.after ?? "").split(":").map(Number);
  const after = attempt_no !== undefined && seq !== undefined ? { attempt_no, seq } : undefined;
  return {
    limit: query.limit ?? LIMITS.logPageDefault,
    ...defined({ attempt: query.attempt, stream: query.stream, after }),
  };
}

interface LogPosition {
  readonly limit: number;
  readonly attempt?: number;
  readonly stream?: LogStream;
  readonly after?: { readonly attempt_no: number; readonly seq: number };
}

/** Parses a step position `<run>:<name>`; a name may have colons. */
export function stepPosition(after: string | undefined): { run_no: number; name: string } | undefined {
  if (after === undefined) return undefined;
  const colon = after.indexOf(":");
  return { run_no: Number(after.slice(0, colon)), name: after.slice(colon + 1) };
}
