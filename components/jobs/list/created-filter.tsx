"use client";

import { CalendarRange, ChevronDown } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { FormDialog } from "@/components/ui/forms/form-dialog";
import { InputField } from "@/components/ui/forms/input-field";
import { Menu, MenuItem, MenuSeparator } from "@/components/ui/menu";
import { serverNow } from "@/lib/client/clock";
import { instantOf } from "@/lib/client/forms/local-input";
import type { JobFilters, SetFilters } from "@/lib/client/jobs/job-filters";

const SPANS = [
  ["Last 15 minutes", 15],
  ["Last hour", 60],
  ["Last 24 hours", 24 * 60],
  ["Last 7 days", 7 * 24 * 60],
] as const;

interface CreatedFilterProps {
  readonly filters: JobFilters;
  readonly onChange: SetFilters;
}

/**
 * Filters by the time of the enqueue. A span is fixed when it is chosen, so that a shared address shows the same jobs.
 */
export function CreatedFilter({ filters, onChange }: CreatedFilterProps) {
  const [open, setOpen] = useState(false);
  const active = filters.after !== null || filters.before !== null;
  const since = (minutes: number) =>
    onChange({ after: new Date(serverNow() - minutes * 60_000).toISOString(), before: null });
  return (
    <>
      <Menu
        align="start"
        label="Created"
        trigger={
          <Button className="font-normal max-sm:text-lg">
            <CalendarRange aria-hidden className="size-3.5 text-muted" />
            Created{active ? <span className="font-medium">· 1</span> : null}
            <ChevronDown aria-hidden className="size-3.5 text-muted" />
          </Button>
        }
      >
        {SPANS.map(([label, minutes]) => (
          <MenuItem key={label} onSelect={() => since(minutes)}>
            {label}
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem onSelect={() => setOpen(true)}>From and to…</MenuItem>
        {active ? <MenuItem onSelect={() => onChange({ after: null, before: null })}>Any time</MenuItem> : null}
      </Menu>
      {open ? <RangeDialog filters={filters} onChange={onChange} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function RangeDialog({ filters, onChange, onClose }: CreatedFilterProps & { readonly onClose: () => void }) {
  const [range, setRange] = useState({ after: toLocal(filters.after), before: toLocal(filters.before) });
  const apply = () => {
    onChange({ after: instantOf(range.after), before: instantOf(range.before) });
    onClose();
  };
  return (
    <FormDialog
      title="Created"
      description="In this browser's time zone."
      submit="Apply"
      validates
      className="gap-3"
      onSubmit={apply}
      onClose={onClose}
    >
      <InputField
        label="From"
        name="after"
        hint="Included"
        type="datetime-local"
        value={range.after}
        onText={(after) => setRange({ ...range, after })}
      />
      <InputField
        label="Before"
        name="before"
        hint="Not included"
        type="datetime-local"
        value={range.before}
        onText={(before) => setRange({ ...range, before })}
      />
    </FormDialog>
  );
}

function toLocal(instant: string | null): string {
  if (instant === null) return "";
  const date = new Date(instant);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
