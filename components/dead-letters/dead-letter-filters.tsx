"use client";

import { useQuery } from "@tanstack/react-query";
import { definitionsOptions } from "@/lib/client/jobs/definitions";
import { TRIAGE_STATUSES, type TriageStatus } from "@/lib/queue/states";
import { useTenant } from "../shell/viewer";

export interface DeadLetterFilters {
  /** Null means open dead letters; empty means every status. */
  readonly status: readonly TriageStatus[] | null;
  readonly definition: string | null;
}

interface FiltersProps {
  readonly chosen: DeadLetterFilters;
  readonly onChange: (filters: DeadLetterFilters) => void;
}

export function Filters({ chosen, onChange }: FiltersProps) {
  const { slug } = useTenant();
  const definitions = useQuery(definitionsOptions(slug));
  const keys = new Set((definitions.data?.data ?? []).map((definition) => definition.key));
  if (chosen.definition) keys.add(chosen.definition);
  const { status } = chosen;
  const value = status === null || status.length > 1 ? "open" : (status[0] ?? "any");
  const choose = (wanted: string) => {
    const known = TRIAGE_STATUSES.find((one) => one === wanted);
    onChange({ ...chosen, status: known ? [known] : wanted === "any" ? [] : null });
  };
  return (
    <div className="flex flex-wrap gap-2">
      <select
        aria-label="Triage status"
        value={value}
        onChange={(event) => choose(event.target.value)}
        className="field w-auto border-line"
      >
        <option value="open">pending or investigating</option>
        <option value="any">every status</option>
        {TRIAGE_STATUSES.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <select
        aria-label="Definition"
        value={chosen.definition ?? ""}
        onChange={(event) => onChange({ ...chosen, definition: event.target.value || null })}
        className="field w-auto border-line"
      >
        <option value="">every definition</option>
        {[...keys].map((key) => (
          <option key={key} value={key}>
            {key}
          </option>
        ))}
      </select>
    </div>
  );
}
