"use client";

import { ChevronDown, Search } from "lucide-react";
import type { RefObject } from "react";
import { Button } from "@/components/ui/button";
import { FilterSelect, sameText } from "@/components/ui/forms/select";
import { Menu, MenuCheck } from "@/components/ui/menu";
import { useSearchText } from "@/lib/client/forms/use-search-text";
import { isFiltered, type JobFilters, type SetFilters } from "@/lib/client/jobs/job-filters";
import { JOB_SOURCES, JOB_STATUSES } from "@/lib/queue/states";
import { STATUS_LOOKS } from "../status";
import { CreatedFilter } from "./created-filter";
import { FilterChips } from "./filter-chips";

interface FilterBarProps {
  readonly filters: JobFilters;
  readonly onChange: SetFilters;
  readonly definitions: readonly string[];
  readonly queues: readonly string[];
  readonly searchRef: RefObject<HTMLInputElement | null>;
}

/** The filters of the list, all stored in the address. */
export function FilterBar({ filters, onChange, definitions, queues, searchRef }: FilterBarProps) {
  return (
    <search aria-label="Filter jobs" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5">
        <TextFilter value={filters.q ?? ""} onChange={onChange} inputRef={searchRef} />
        <div className="flex items-center gap-2 p-0.5 max-sm:-mx-4 max-sm:w-screen max-sm:overflow-x-auto max-sm:px-4">
          <StatusFilter filters={filters} onChange={onChange} />
          <Choice
            label="Definition"
            value={filters.definition}
            options={definitions}
            onChange={(definition) => onChange({ definition })}
          />
          <Choice
            label="Source"
            value={filters.source}
            options={JOB_SOURCES}
            onChange={(source) => onChange({ source: JOB_SOURCES.find((known) => known === source) ?? null })}
          />
          <Choice label="Queue" value={filters.queue} options={queues} onChange={(queue) => onChange({ queue })} />
          <CreatedFilter filters={filters} onChange={onChange} />
        </div>
      </div>
      {isFiltered(filters) ? <FilterChips filters={filters} onChange={onChange} /> : null}
    </search>
  );
}

function TextFilter({
  value,
  onChange,
  inputRef,
}: {
  readonly value: string;
  readonly onChange: SetFilters;
  readonly inputRef: RefObject<HTMLInputElement | null>;
}) {
  const [text, setText] = useSearchText(value, (q) => onChange({ q: q || null }, { history: "replace" }));
  return (
    <div className="relative w-full sm:w-64">
      <Search
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-2.5 size-3.5 -translate-y-1/2 text-muted"
      />
      <input
        ref={inputRef}
        type="search"
        aria-label="Job id or definition"
        placeholder="Job id or definition"
        maxLength={128}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        className="field pl-8 [&::-webkit-search-cancel-button]:hidden"
      />
    </div>
  );
}

function StatusFilter({ filters, onChange }: { readonly filters: JobFilters; readonly onChange: SetFilters }) {
  const count = filters.status.length;
  return (
    <Menu
      align="start"
      label="Status"
      trigger={
        <Button className="font-normal max-sm:text-lg">
          Status{count > 0 ? <span className="tabular font-medium">· {count}</span> : null}
          <ChevronDown aria-hidden className="size-3.5 text-muted" />
        </Button>
      }
    >
      {JOB_STATUSES.map((status) => {
        const { icon: Icon, label } = STATUS_LOOKS[status];
        const checked = filters.status.includes(status);
        return (
          <MenuCheck
            key={status}
            checked={checked}
            onSelect={(event) => event.preventDefault()}
            onCheckedChange={() =>
              onChange({
                status: JOB_STATUSES.filter((each) => (each === status ? !checked : filters.status.includes(each))),
              })
            }
          >
            <Icon aria-hidden className="size-3.5 text-muted" />
            {label}
          </MenuCheck>
        );
      })}
    </Menu>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | null;
  readonly options: readonly string[];
  readonly onChange: (value: string | null) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  const known = value === null || options.includes(value) ? options : [value, ...options];
  return (
    <FilterSelect
      aria-label={label}
      any={`${label}: any`}
      options={sameText(known)}
      value={value ?? ""}
      onChoose={(chosen) => onChange(chosen || null)}
      className="max-w-44 shrink-0 pr-1"
    />
  );
}
