"use client";

import { SearchX } from "lucide-react";
import { Button } from "@/components/ui/button";
import { ListBar } from "@/components/ui/list-bar";
import { Empty, ProblemPanel } from "@/components/ui/states";
import { formatCount } from "@/lib/client/format";
import { type JobFilters, NO_FILTERS } from "@/lib/client/jobs/job-filters";
import type { BulkAction, Pagination } from "@/lib/contract";
import { BulkBar } from "../../actions/bulk-bar";
import type { ActOnJob } from "../job-actions";
import { FirstJob } from "./first-job";
import { JobsTable } from "./jobs-table";
import type { SetFilters } from "./set-filters";
import type { useJobList } from "./use-job-list";
import type { Selection } from "./use-selection";

interface JobsListProps {
  readonly list: ReturnType<typeof useJobList>;
  readonly filters: JobFilters;
  readonly filtered: boolean;
  readonly onFilters: SetFilters;
  readonly actions: ActOnJob;
  readonly selection: Selection;
  readonly onBulk: (action: BulkAction) => void;
  readonly onCreate: () => void;
  readonly noCreate: string | null;
}

/** The list in each of its states: loading, failed, never used, no match, rows. */
export function JobsList(props: JobsListProps) {
  const { list, filters, filtered, onFilters, actions, selection, onBulk, onCreate, noCreate } = props;
  const { query, shown } = list;
  const rows = query.data ? shown.rows : undefined;
  return (
    <section aria-label="Jobs" className="panel overflow-clip">
      <ListBar
        noun="job"
        waiting={filters.cursor === null ? shown.waiting.length : 0}
        onShow={() => list.showWaiting(selection.ids)}
        read={rows !== undefined}
        staleSince={query.isError && rows ? query.dataUpdatedAt : null}
        onRetry={() => void query.refetch()}
      >
        {selection.ids.size > 0 && query.data ? (
          <BulkBar selection={selection} shown={shown.rows.length} pagination={query.data.pagination} onAct={onBulk} />
        ) : null}
      </ListBar>
      {query.isError && !rows ? (
        <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
      ) : rows?.length === 0 ? (
        <Nothing
          filtered={filtered || filters.cursor !== null}
          onFilters={onFilters}
          onCreate={onCreate}
          noCreate={noCreate}
        />
      ) : (
        <JobsTable rows={rows} gone={shown.gone} filters={filters} actions={actions} selection={selection} />
      )}
      {query.data && rows && rows.length > 0 ? (
        <Pager pagination={query.data.pagination} shown={rows.length} filters={filters} onFilters={onFilters} />
      ) : null}
    </section>
  );
}

type NothingProps = Pick<JobsListProps, "filtered" | "onFilters" | "onCreate" | "noCreate">;

function Nothing({ filtered, onFilters, onCreate, noCreate }: NothingProps) {
  if (!filtered) return <FirstJob onCreate={onCreate} noCreate={noCreate} />;
  return (
    <Empty icon={SearchX} title="No job matches">
      <p>Remove a filter above, or all of them.</p>
      <Button onClick={() => onFilters({ ...NO_FILTERS })}>Clear filters</Button>
    </Empty>
  );
}

interface PagerProps {
  readonly pagination: Pagination;
  readonly shown: number;
  readonly filters: JobFilters;
  readonly onFilters: SetFilters;
}

function Pager({ pagination, shown, filters, onFilters }: PagerProps) {
  const { total, total_relation: relation, has_more: hasMore, next_cursor: next } = pagination;
  const turn = (cursor: string | null) => {
    onFilters({ cursor });
    window.scrollTo({ top: 0 });
    document.getElementById("main")?.focus({ preventScroll: true });
  };
  return (
    <nav aria-label="Pages" className="flex flex-wrap items-center gap-2 border-line border-t px-4 py-2">
      <p className="tabular flex-1 text-muted text-xs">
        {relation === "gte" ? "more than " : ""}
        {formatCount(Math.max(total, shown))} {total === 1 ? "job" : "jobs"}
      </p>
      {filters.cursor !== null ? (
        <>
          <Button size="sm" onClick={() => turn(null)}>
            Newest
          </Button>
          <Button size="sm" onClick={() => window.history.back()}>
            Back
          </Button>
        </>
      ) : null}
      {hasMore && next !== null ? (
        <Button size="sm" onClick={() => turn(next)}>
          Older
        </Button>
      ) : null}
    </nav>
  );
}
