"use client";

import { X } from "lucide-react";
import { Button } from "@/components/ui/button";
import { formatUtc } from "@/lib/client/format";
import type { JobFilters, SetFilters } from "@/lib/client/jobs/job-filters";
import { STATUS_LOOKS } from "../status";

/** The active filters, each with a button that removes it. */
export function FilterChips({ filters, onChange }: { readonly filters: JobFilters; readonly onChange: SetFilters }) {
  const chips: [string, Partial<JobFilters>][] = [
    ...filters.status.map((status): [string, Partial<JobFilters>] => [
      STATUS_LOOKS[status].label,
      { status: filters.status.filter((other) => other !== status) },
    ]),
    ...chip("definition", filters.definition, { definition: null }),
    ...chip("source", filters.source, { source: null }),
    ...chip("queue", filters.queue, { queue: null }),
    ...chip("from", filters.after && formatUtc(filters.after), { after: null }),
    ...chip("before", filters.before && formatUtc(filters.before), { before: null }),
    ...chip("matching", filters.q, { q: null }),
  ];
  const all = { status: [], definition: null, source: null, queue: null, after: null, before: null, q: null };
  return (
    <ul aria-label="Active filters" className="flex flex-wrap items-center gap-1.5">
      {chips.map(([label, change]) => (
        <li
          key={label}
          className="inline-flex h-6 max-w-full items-center gap-1 rounded-full bg-accent-soft pl-2.5 text-accent text-xs"
        >
          <span className="truncate">{label}</span>
          <button
            type="button"
            aria-label={`Remove filter ${label}`}
            onClick={() => onChange(change)}
            className="grid size-6 place-items-center rounded-full hover:bg-accent hover:text-panel"
          >
            <X aria-hidden className="size-3" />
          </button>
        </li>
      ))}
      <li>
        <Button variant="ghost" size="sm" className="h-6" onClick={() => onChange(all)}>
          Clear filters
        </Button>
      </li>
    </ul>
  );
}

function chip(name: string, value: string | null, change: Partial<JobFilters>): [string, Partial<JobFilters>][] {
  return value ? [[`${name} ${value}`, change]] : [];
}
