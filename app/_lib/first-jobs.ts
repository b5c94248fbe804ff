import { createLoader, type SearchParams } from "nuqs/server";
import type { FirstJobs } from "@/components/jobs/list/use-job-list";
import { listPosition, listReply } from "@/lib/api/http/list";
import type { TenantPage } from "@/lib/api/page";
import { jobFilter } from "@/lib/api/resources/filters";
import { shownJobs } from "@/lib/api/resources/shown";
import { getRuntime } from "@/lib/api/runtime";
import { filterKey, JOBS_PER_PAGE, jobFilterParsers, jobListQueryString } from "@/lib/client/jobs/job-filters";
import { jobListQuery } from "@/lib/contract";
import { listJobs, summarizeJobs } from "@/lib/queue";

const loadFilters = createLoader(jobFilterParsers);

/**
 * Returns the first data of the Jobs page, so that the page arrives with its rows. Null for an invalid address: the
 * browser then asks the API and shows its answer.
 */
export async function firstJobs(page: TenantPage, search: Promise<SearchParams>): Promise<FirstJobs | null> {
  const filters = await loadFilters(search);
  const sent = new URLSearchParams(jobListQueryString(filters, JOBS_PER_PAGE));
  const query = jobListQuery.safeParse(Object.fromEntries(sent));
  if (!query.success || query.data.cursor !== undefined) return null;
  const { limit, offset: _offset, cursor: _cursor, ...filter } = query.data;
  const { cursorSecret, origin } = getRuntime().config;
  const scope = { secret: cursorSecret, list: "jobs", tenantId: page.tenant.id, filter };
  const position = listPosition({ limit }, scope);
  const [found, summary] = await Promise.all([
    listJobs(page.db, page.scope, jobFilter(query.data), position),
    summarizeJobs(page.db, page.scope),
  ]);
  const reply = listReply({ ...found, rows: await shownJobs(found.jobs) }, position, {
    scope,
    url: new URL(origin),
  });
  return { key: filterKey(filters), list: reply.body, summary: summary };
}
