import { createParser, parseAsArrayOf, parseAsString, parseAsStringLiteral } from "nuqs/server";
import { JOB_SOURCES, JOB_STATUSES, type JobSource, type JobStatus } from "@/lib/queue/states";
import { queryString } from "../query-string";

export const JOBS_PER_PAGE = 50;

const parseAsInstant = createParser<string>({
  parse: (text) => (Number.isNaN(Date.parse(text)) ? null : new Date(text).toISOString()),
  serialize: (value) => value,
});

/** The parameters in a job list's address, under their names in the address. */
export const jobFilterParsers = {
  status: parseAsArrayOf(parseAsStringLiteral(JOB_STATUSES)).withDefault([]),
  source: parseAsStringLiteral(JOB_SOURCES),
  definition: parseAsString,
  queue: parseAsString,
  after: parseAsInstant,
  before: parseAsInstant,
  q: parseAsString,
  cursor: parseAsString,
};

export interface JobFilters {
  readonly status: readonly JobStatus[];
  readonly source: JobSource | null;
  readonly definition: string | null;
  readonly queue: string | null;
  readonly after: string | null;
  readonly before: string | null;
  readonly q: string | null;
  readonly cursor: string | null;
}

/** Changes some filters in the address and returns to the newest page. */
export type SetFilters = (change: Partial<JobFilters>, options?: { history: "push" | "replace" }) => void;

export const NO_FILTERS: JobFilters = {
  status: [],
  source: null,
  definition: null,
  queue: null,
  after: null,
  before: null,
  q: null,
  cursor: null,
};

/** Returns the same text for the same filters, wherever they were read. */
export function filterKey(filters: JobFilters): string {
  const { status, source, definition, queue, after, before, q, cursor } = filters;
  return JSON.stringify([status, source, definition, queue, after, before, q, cursor]);
}

/** Returns true if any filter is set; the position in the list does not count. */
export function isFiltered(filters: JobFilters): boolean {
  const { cursor: _position, status, ...others } = filters;
  return status.length > 0 || Object.values(others).some((value) => value !== null && value !== "");
}

/** Returns the query of GET /api/v1/jobs for these filters. */
export function jobListQueryString(filters: JobFilters, limit: number): string {
  return queryString({
    limit,
    status: filters.status,
    source: filters.source,
    definition_key: filters.definition,
    queue: filters.queue,
    created_after: filters.after,
    created_before: filters.before,
    q: filters.q?.trim() || null,
    cursor: filters.cursor,
  });
}

/** Returns the address of a job list with these filters. */
export function jobsHref(tenant: string, filters: Partial<JobFilters>): string {
  return `/t/${tenant}/jobs${queryString({ ...filters })}`;
}
