"use client";

import { CalendarRange, ChevronDown } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { Menu, MenuItem, MenuSeparator } from "@/components/ui/menu";
import { serverNow } from "@/lib/client/clock";
import type { JobFilters } from "@/lib/client/jobs/job-filters";
import type { SetFilters } from "./set-filters";

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
      <RangeDialog filters={filters} onChange={onChange} open={open} onClose={() => setOpen(false)} />
    </>
  );
}

function RangeDialog({
  filters,
  onChange,
  open,
  onClose,
}: CreatedFilterProps & { readonly open: boolean; readonly onClose: () => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    onChange({ after: toInstant(fields.get("after")), before: toInstant(fields.get("before")) });
    onClose();
  };
  return (
    <Dialog title="Created" description="In this browser's time zone." open={open} onClose={onClose}>
      <form onSubmit={submit} className="contents">
        <DialogBody className="flex flex-col gap-3">
          <Field label="From" hint="Included">
            {(control) => (
              <input
                {...control}
                name="after"
                type="datetime-local"
                defaultValue={toLocal(filters.after)}
                className="field"
              />
            )}
          </Field>
          <Field label="Before" hint="Not included">
            {(control) => (
              <input
                {...control}
                name="before"
                type="datetime-local"
                defaultValue={toLocal(filters.before)}
                className="field"
              />
            )}
          </Field>
        </DialogBody>
        <DialogActions>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary">
            Apply
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function toInstant(value: FormDataEntryValue | null): string | null {
  if (typeof value !== "string" || value === "") return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

function toLocal(instant: string | null): string {
  if (instant === null) return "";
  const date = new Date(instant);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
