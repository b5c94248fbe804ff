"use client";

import { cn } from "@/components/ui/cn";
import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { Time } from "@/components/ui/time";
import type { JobFilters } from "@/lib/client/jobs/job-filters";
import { attemptsSoFar } from "@/lib/client/jobs/jobs";
import type { JobRow } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";
import type { JobActions } from "../job-actions";
import { Duration } from "../wait-line";
import { JobName, JobRowActions, JobState } from "./job-cells";
import type { Selection } from "./use-selection";

interface JobsTableProps {
  /** Undefined while the first answer is loading. */
  readonly rows: readonly JobRow[] | undefined;
  readonly gone: ReadonlySet<string>;
  readonly filters: JobFilters;
  readonly actions: JobActions;
  readonly selection: Selection;
}

/** The jobs of a page. Every row has the same height, for any content. */
export function JobsTable({ rows, gone, filters, actions, selection }: JobsTableProps) {
  const { slug } = useTenant();
  const hrefOf = (job: JobRow) => `/t/${slug}/jobs/${job.id}`;
  const isDimmed = ({ id, status }: JobRow) =>
    gone.has(id) || (filters.status.length > 0 && !filters.status.includes(status));
  return (
    <DataTable
      caption="Jobs, newest first"
      columns={[
        selectColumn(rows ?? [], selection),
        STATUS_COLUMN,
        nameColumn((job) => <JobName job={job} href={hrefOf(job)} dimmed={isDimmed(job)} />),
        ...FIGURES,
        actionsColumn((job) => <JobRowActions job={job} href={hrefOf(job)} actions={actions} />),
      ]}
      rows={rows}
      rowKey={({ id }) => id}
      rowClass="group relative h-14 hover:bg-hover has-[a:focus-visible]:bg-hover"
      rowAttributes={(job) => ({
        "data-job-id": job.id,
        className: cn(
          isDimmed(job) && "text-muted",
          selection.ids.has(job.id) && "bg-accent-soft hover:bg-accent-soft",
        ),
      })}
      loading={{ rows: 10, className: "h-14" }}
    />
  );
}

const selectColumn = (rows: readonly JobRow[], selection: Selection): Column<JobRow> => ({
  id: "select",
  head: <PageBox rows={rows} selection={selection} />,
  width: "w-9 pr-0",
  className: "w-9 py-0 pr-0",
  placeholder: ["size-4"],
  cell: (job) => (
    <input
      type="checkbox"
      aria-label={`Select ${job.definition_key} ${job.id.slice(-12)}`}
      checked={selection.ids.has(job.id)}
      onChange={() => selection.toggle(job.id)}
      className="block size-4 accent-accent"
    />
  ),
});

const STATUS_COLUMN: Column<JobRow> = {
  id: "status",
  head: "Status",
  width: "w-32 max-sm:w-28",
  className: "relative w-32 max-sm:w-28 max-sm:pr-0",
  placeholder: ["h-5.5 w-20 rounded-full"],
  cell: (job) => <JobState job={job} />,
};

const nameColumn = (cell: Column<JobRow>["cell"]): Column<JobRow> => ({
  id: "job",
  head: "Job",
  className: "max-w-0",
  placeholder: ["h-4 w-40 max-w-full", "mt-1.5 h-3 w-56 max-w-full"],
  cell,
});

const FIGURES: readonly Column<JobRow>[] = [
  {
    id: "source",
    head: "Source, queue",
    from: "lg",
    width: "w-32",
    className: "text-sm",
    placeholder: ["h-4 w-16"],
    cell: ({ source, queue }) => (
      <>
        <span className="block">{source}</span>
        <span className="block truncate text-muted text-xs">{queue}</span>
      </>
    ),
  },
  {
    id: "attempts",
    head: "Attempts",
    from: "md",
    width: "w-20",
    align: "right",
    className: "tabular text-sm",
    placeholder: ["h-4 w-8"],
    cell: (job) => (
      <>
        {attemptsSoFar(job)}
        <span className="text-muted">/{job.max_attempts}</span>
      </>
    ),
  },
  {
    id: "duration",
    head: "Duration",
    from: "md",
    width: "w-32",
    align: "right",
    className: "whitespace-nowrap text-sm",
    placeholder: ["h-4 w-14"],
    cell: (job) => <Duration job={job} />,
  },
  {
    id: "created",
    head: "Created",
    sorted: "descending",
    from: "sm",
    width: "w-28",
    align: "right",
    className: "whitespace-nowrap text-muted text-sm",
    placeholder: ["h-4 w-16"],
    cell: ({ queued_at: at }) => <Time value={at} />,
  },
];

const actionsColumn = (cell: Column<JobRow>["cell"]): Column<JobRow> => ({
  id: "actions",
  head: "Actions",
  headHidden: true,
  width: "w-20 max-sm:w-12",
  className: "w-20 px-2 max-sm:w-12 sm:pr-3",
  cell,
});

function PageBox({ rows, selection }: { readonly rows: readonly JobRow[]; readonly selection: Selection }) {
  const count = rows.filter((row) => selection.ids.has(row.id)).length;
  return (
    <input
      type="checkbox"
      aria-label="Select every job on this page"
      checked={rows.length > 0 && count === rows.length}
      ref={(box) => {
        if (box) box.indeterminate = count > 0 && count < rows.length;
      }}
      onChange={selection.togglePage}
      className="block size-4 accent-accent"
    />
  );
}
