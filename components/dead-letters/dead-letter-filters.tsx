"use client";

import { useQuery } from "@tanstack/react-query";
import { FilterSelect, Select, sameText } from "@/components/ui/forms/select";
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
      <Select
        aria-label="Triage status"
        options={[["open", "pending or investigating"], ["any", "every status"], ...sameText(TRIAGE_STATUSES)]}
        value={value}
        onChoose={choose}
        className="w-auto border-line"
      />
      <FilterSelect
        aria-label="Definition"
        any="every definition"
        options={sameText(keys)}
        value={chosen.definition ?? ""}
        onChoose={(key) => onChange({ ...chosen, definition: key || null })}
      />
    </div>
  );
}
