"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useQueryStates } from "nuqs";
import { useCallback, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { useToast } from "@/components/ui/toast";
import { definitionsOptions } from "@/lib/client/jobs/definitions";
import { actionFilter } from "@/lib/client/jobs/job-actions";
import { filterKey, isFiltered, jobFilterParsers } from "@/lib/client/jobs/job-filters";
import { useLive } from "@/lib/client/live/use-live";
import type { BulkAction } from "@/lib/contract";
import { ActionProgress } from "../../actions/action-progress";
import { BulkDialog } from "../../actions/bulk-dialog";
import { LiveIndicator } from "../../shell/live-indicator";
import { useReason, useTenant } from "../../shell/viewer";
import { useActOnJob } from "../job-actions";
import { NewJobDialog } from "../new/new-job-dialog";
import { FilterBar } from "./filter-bar";
import { JobsList } from "./jobs-list";
import type { SetFilters } from "./set-filters";
import { SummaryCards } from "./summary-cards";
import { useJobKeys } from "./use-job-keys";
import { type FirstJobs, useJobList } from "./use-job-list";
import { useSelection } from "./use-selection";
import { useUnknownParameters } from "./use-unknown-parameters";

/** The Jobs page of a tenant: is my work flowing, and what needs me? */
export function JobsPage({ first }: { readonly first: FirstJobs | null }) {
  const tenant = useTenant();
  const toast = useToast();
  const live = useLive();
  const [filters, setUrl] = useQueryStates(jobFilterParsers, { history: "push" });
  const [creating, setCreating] = useState(false);
  const noCreate = useReason("jobs:create");
  const searchRef = useRef<HTMLInputElement>(null);
  const list = useJobList(tenant.slug, filters, first);
  const definitions = useQuery(definitionsOptions(tenant.slug));
  const actions = useActOnJob();
  const selection = useSelection(filterKey(filters), list.shown.rows);
  const [bulk, setBulk] = useState<BulkAction | null>(null);
  const [startedId, setStartedId] = useState<string | null>(null);
  const setFilters = useCallback<SetFilters>(
    (change, options) => {
      const { status, ...others } = change;
      void setUrl({ cursor: null, ...others, ...(status ? { status: [...status] } : {}) }, options);
    },
    [setUrl],
  );
  const create = () => (noCreate ? toast({ title: noCreate }) : setCreating(true));
  useUnknownParameters();
  useJobKeys({ tenant: tenant.slug, rows: list.shown.rows, actions, searchRef, create, live });

  const active = definitions.data?.data ?? [];
  const queues = [...new Set(active.map((definition) => definition.queue))].sort();
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-3">
        <h1 className="font-semibold text-xl tracking-tight">Jobs</h1>
        <span className="flex-1" />
        <span className="hidden lg:block">
          <LiveIndicator />
        </span>
        <Button variant="primary" reason={noCreate} onClick={create}>
          <Plus aria-hidden className="size-4" />
          New job
        </Button>
      </header>
      <SummaryCards tenant={tenant.slug} summary={list.summary.data} filters={filters} />
      <FilterBar
        filters={filters}
        onChange={setFilters}
        definitions={active.map((definition) => definition.key)}
        queues={queues}
        searchRef={searchRef}
      />
      {startedId ? <ActionProgress id={startedId} onDismiss={() => setStartedId(null)} /> : null}
      <JobsList
        list={list}
        filters={filters}
        filtered={isFiltered(filters)}
        onFilters={setFilters}
        actions={actions}
        selection={selection}
        onBulk={setBulk}
        onCreate={create}
        noCreate={noCreate}
      />
      {actions.question}
      {bulk ? (
        <BulkDialog
          key={bulk}
          action={bulk}
          request={{
            kind: "jobs",
            body: {
              action: bulk,
              ...(selection.all ? { filter: actionFilter(filters) } : { ids: [...selection.ids] }),
            },
          }}
          onClose={() => setBulk(null)}
          onStarted={(started) => {
            setStartedId(started.id);
            selection.clear();
          }}
        />
      ) : null}
      <NewJobDialog open={creating} onClose={() => setCreating(false)} />
    </div>
  );
}
