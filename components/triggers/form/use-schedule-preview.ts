"use client";

import { useQuery } from "@tanstack/react-query";
import { previewBodyOf, type TriggerFields } from "@/lib/client/triggers/trigger-form";
import { triggerPreviewOptions } from "@/lib/client/triggers/triggers";
import { useDebounced } from "@/lib/client/use-debounced";
import type { TriggerPreview } from "@/lib/contract";
import { type Faults, faultsOfError } from "./use-trigger-form";

export interface SchedulePreviewState {
  readonly preview: TriggerPreview | undefined;
  readonly faults: Faults;
  /** Why there is no preview. Problems of a field are shown at the field. */
  readonly fault: string | null;
  readonly busy: boolean;
  /** True if there is no schedule to preview. */
  readonly none: boolean;
}

const NONE: Faults = new Map();

/** The preview of the schedule in the form, requested a quarter of a second after the last change. */
export function useSchedulePreview(slug: string, fields: TriggerFields): SchedulePreviewState {
  const body = previewBodyOf(fields);
  const asked = useDebounced(body);
  const query = useQuery({ ...triggerPreviewOptions(slug, asked ?? {}), enabled: asked !== null });
  const [faults, general] = asked !== null && query.error ? faultsOfError(query.error) : [NONE, null];
  const example = asked === null || query.error ? [] : (query.data?.example?.problems ?? []);
  const template = example.map(({ pointer, detail }) => ({ at: pointer, detail }));
  return {
    preview: asked === null ? undefined : query.data,
    faults: template.length > 0 ? new Map([...faults, ["payload_template", template]]) : faults,
    fault: general ?? (faults.size > 0 ? "Correct the marked field first." : null),
    busy: query.isFetching || JSON.stringify(body) !== JSON.stringify(asked),
    none: body === null,
  };
}
