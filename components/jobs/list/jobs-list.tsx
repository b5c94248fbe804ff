"use client";

import { SearchX } from "lucide-react";
import { Button } from "@/components/ui/button";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { Pager, totalOf } from "@/components/ui/lists/pager";
import { Empty } from "@/components/ui/states";
import { type JobFilters, NO_FILTERS, type SetFilters } from "@/lib/client/jobs/job-filters";
import type { BulkAction, Pagination } from "@/lib/contract";
import { BulkBar } from "../../actions/bulk-bar";
import type { JobActions } from "../job-actions";
import { FirstJob } from "./first-job";
import { JobsTable } from "./jobs-table";
import type { useJobList } from "./use-job-list";
import type { Selection } from "./use-selection";

interface JobsListProps {
  readonly list: ReturnType<typeof useJobList>;
  readonly filters: JobFilters;
  readonly filtered: boolean;
  readonly onFilters: SetFilters;
  readonly actions: JobActions;
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
    <ListPanel
      label="Jobs"
      noun="job"
      query={query}
      rows={rows}
      waiting={filters.cursor === null ? shown.waiting.length : 0}
      onShow={() => list.showWaiting(selection.ids)}
      bar={
        selection.ids.size > 0 && query.data ? (
          <BulkBar
            selection={selection}
            shown={shown.rows.length}
            pagination={query.data.pagination}
            onAction={onBulk}
          />
        ) : null
      }
      empty={
        <Nothing
          filtered={filtered || filters.cursor !== null}
          onFilters={onFilters}
          onCreate={onCreate}
          noCreate={noCreate}
        />
      }
      footer={
        query.data && rows && rows.length > 0 ? (
          <Footer pagination={query.data.pagination} shown={rows.length} filters={filters} onFilters={onFilters} />
        ) : null
      }
    >
      <JobsTable rows={rows} gone={shown.gone} filters={filters} actions={actions} selection={selection} />
    </ListPanel>
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

interface FooterProps {
  readonly pagination: Pagination;
  readonly shown: number;
  readonly filters: JobFilters;
  readonly onFilters: SetFilters;
}

function Footer({ pagination, shown, filters, onFilters }: FooterProps) {
  const { total, has_more: more, next_cursor: next } = pagination;
  return (
    <Pager
      label={`${totalOf({ ...pagination, total: Math.max(total, shown) })} ${total === 1 ? "job" : "jobs"}`}
      cursor={filters.cursor}
      next={more ? next : null}
      onTurn={(cursor) => onFilters({ cursor })}
    >
      <Button size="sm" onClick={() => window.history.back()}>
        Back
      </Button>
    </Pager>
  );
}
