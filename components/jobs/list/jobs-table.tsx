"use client";

import { Skeleton } from "@/components/ui/states";
import type { JobFilters } from "@/lib/client/jobs/job-filters";
import type { JobRow } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";
import type { ActOnJob } from "../job-actions";
import { JobTableRow } from "./job-row";
import type { Selection } from "./use-selection";

const HEAD = "h-9 px-3 text-left font-medium text-muted text-xs";

interface JobsTableProps {
  readonly rows: readonly JobRow[] | undefined;
  readonly gone: ReadonlySet<string>;
  readonly filters: JobFilters;
  readonly actions: ActOnJob;
  readonly selection: Selection;
}

export function JobsTable({ rows, gone, filters, actions, selection }: JobsTableProps) {
  const { slug } = useTenant();
  return (
    <table aria-busy={rows === undefined} className="w-full border-collapse">
      <caption className="sr-only">Jobs, newest first</caption>
      <thead>
        <tr>
          <th scope="col" className={`${HEAD} w-9 pr-0 sm:pl-4`}>
            <PageBox rows={rows ?? []} selection={selection} />
          </th>
          <th scope="col" className={`${HEAD} w-32 max-sm:w-28`}>
            Status
          </th>
          <th scope="col" className={HEAD}>
            Job
          </th>
          <th scope="col" className={`${HEAD} hidden w-32 lg:table-cell`}>
            Source, queue
          </th>
          <th scope="col" className={`${HEAD} hidden w-20 text-right md:table-cell`}>
            Attempts
          </th>
          <th scope="col" className={`${HEAD} hidden w-32 text-right md:table-cell`}>
            Duration
          </th>
          <th scope="col" aria-sort="descending" className={`${HEAD} hidden w-28 text-right sm:table-cell`}>
            Created
          </th>
          <th scope="col" className={`${HEAD} w-20 max-sm:w-12`}>
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows?.map((job) => (
          <JobTableRow
            key={job.id}
            job={job}
            tenant={slug}
            dimmed={gone.has(job.id) || (filters.status.length > 0 && !filters.status.includes(job.status))}
            actions={actions}
            selected={selection.ids.has(job.id)}
            onSelect={selection.toggle}
          />
        )) ?? <SkeletonRows />}
      </tbody>
    </table>
  );
}

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

const SKELETON_ROWS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/** Placeholder rows of the final height while the first answer is loading. */
export function SkeletonRows() {
  return SKELETON_ROWS.map((key) => (
    <tr key={key} className="h-14 border-line border-t">
      <td className="w-9 pl-3 sm:pl-4">
        <Skeleton className="size-4" />
      </td>
      <td className="w-32 px-3">
        <Skeleton className="h-5.5 w-20 rounded-full" />
      </td>
      <td className="px-3">
        <Skeleton className="h-4 w-40 max-w-full" />
        <Skeleton className="mt-1.5 h-3 w-56 max-w-full" />
      </td>
      <td className="hidden px-3 lg:table-cell">
        <Skeleton className="h-4 w-16" />
      </td>
      <td className="hidden px-3 md:table-cell">
        <Skeleton className="ml-auto h-4 w-8" />
      </td>
      <td className="hidden px-3 md:table-cell">
        <Skeleton className="ml-auto h-4 w-14" />
      </td>
      <td className="hidden px-3 sm:table-cell">
        <Skeleton className="ml-auto h-4 w-16" />
      </td>
      <td className="w-20 px-3" />
    </tr>
  ));
}
