/*
 * The list of jobs: filters in the address, rows that are updated in place, selection, and bulk actions on it. New rows
 * wait until the user asks for them. A selection is rows on the screen or every job that matches, and other filters
 * reset it.
 *
 * Start with the page below, then `jobs-list.tsx`, `jobs-table.tsx` and `job-cells.tsx` (the columns), `use-job-list.ts`
 * (the rows) and `use-selection.ts`.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useQueryStates } from "nuqs";
import { useCallback, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { useToast } from "@/components/ui/toast";
import { definitionsOptions } from "@/lib/client/jobs/definitions";
import { actionFilter } from "@/lib/client/jobs/job-actions";
import {
  filterKey,
  isFiltered,
  type JobFilters,
  jobFilterParsers,
  type SetFilters,
} from "@/lib/client/jobs/job-filters";
import { useLive } from "@/lib/client/live/use-live";
import type { BulkAction } from "@/lib/contract";
import { ActionProgress } from "../../actions/action-progress";
import { BulkDialog } from "../../actions/bulk-dialog";
import { PageLiveIndicator } from "../../shell/live-indicator";
import { useReason, useTenant } from "../../shell/viewer";
import { useJobActions } from "../job-actions";
import { NewJobDialog } from "../new/new-job-dialog";
import { FilterBar } from "./filter-bar";
import { JobsList } from "./jobs-list";
import { SummaryCards } from "./summary-cards";
import { useJobKeys } from "./use-job-keys";
import { type FirstJobs, useJobList } from "./use-job-list";
import { type Selection, useSelection } from "./use-selection";
import { useUnknownParameters } from "./use-unknown-parameters";

/** The Jobs page of a tenant: is my work flowing, and what needs me? */
export function JobsPage({ first }: { readonly first: FirstJobs | null }) {
  const { slug } = useTenant();
  const toast = useToast();
  const live = useLive();
  const [filters, setFilters] = useJobFilters();
  const [creating, setCreating] = useState(false);
  const noCreate = useReason("jobs:create");
  const searchRef = useRef<HTMLInputElement>(null);
  const list = useJobList(slug, filters, first);
  const definitions = useQuery(definitionsOptions(slug)).data?.data ?? [];
  const actions = useJobActions();
  const selection = useSelection(filterKey(filters), list.shown.rows);
  const bulk = useBulk(selection, filters);
  const create = () => (noCreate ? toast({ title: noCreate }) : setCreating(true));
  useUnknownParameters();
  useJobKeys({ tenant: slug, rows: list.shown.rows, actions, searchRef, create, live });
  return (
    <div className="flex flex-col gap-4">
      <JobsHeader noCreate={noCreate} onCreate={create} />
      <SummaryCards tenant={slug} summary={list.summary.data} filters={filters} />
      <FilterBar
        filters={filters}
        onChange={setFilters}
        definitions={definitions.map(({ key }) => key)}
        queues={[...new Set(definitions.map(({ queue }) => queue))].sort()}
        searchRef={searchRef}
      />
      {bulk.progress}
      <JobsList
        list={list}
        filters={filters}
        filtered={isFiltered(filters)}
        onFilters={setFilters}
        actions={actions}
        selection={selection}
        onBulk={bulk.ask}
        onCreate={create}
        noCreate={noCreate}
      />
      {actions.question}
      {bulk.dialog}
      <NewJobDialog open={creating} onClose={() => setCreating(false)} />
    </div>
  );
}

/** The filters in the address, and the function that changes them. */
function useJobFilters(): [JobFilters, SetFilters] {
  const [filters, setUrl] = useQueryStates(jobFilterParsers, { history: "push" });
  const setFilters = useCallback<SetFilters>(
    (change, options) => {
      const { status, ...others } = change;
      void setUrl({ cursor: null, ...others, ...(status ? { status: [...status] } : {}) }, options);
    },
    [setUrl],
  );
  return [filters, setFilters];
}

function JobsHeader({ noCreate, onCreate }: { readonly noCreate: string | null; readonly onCreate: () => void }) {
  return (
    <header className="flex flex-wrap items-center gap-3">
      <h1 className="font-semibold text-xl tracking-tight">Jobs</h1>
      <span className="flex-1" />
      <PageLiveIndicator />
      <Button variant="primary" reason={noCreate} onClick={onCreate}>
        <Plus aria-hidden className="size-4" />
        New job
      </Button>
    </header>
  );
}

/** The action on the selected jobs. Render `dialog` once, and `progress` where it moves no row. */
function useBulk(selection: Selection, filters: JobFilters) {
  const [action, setAction] = useState<BulkAction | null>(null);
  const [startedId, setStartedId] = useState<string | null>(null);
  const which = selection.all ? { filter: actionFilter(filters) } : { ids: [...selection.ids] };
  const dialog = action ? (
    <BulkDialog
      key={action}
      action={action}
      request={{ kind: "jobs", body: { action, ...which } }}
      onClose={() => setAction(null)}
      onStarted={(started) => {
        setStartedId(started.id);
        selection.clear();
      }}
    />
  ) : null;
  const progress = startedId ? <ActionProgress id={startedId} onDismiss={() => setStartedId(null)} /> : null;
  return { ask: setAction, dialog, progress };
}
