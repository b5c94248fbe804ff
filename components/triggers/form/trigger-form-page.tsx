/*
 * The form that creates or changes a trigger, with a preview of its schedule or a test of its event. If another user
 * saves meanwhile, the form keeps its own edits and takes the saved values elsewhere.
 *
 * Start with the page below, then `use-trigger-form.ts` (the fields) and `trigger-form-view.tsx`.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { BackLink } from "@/components/ui/back-link";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { BLANK_TRIGGER, type TriggerFields, triggerFieldsOf } from "@/lib/client/triggers/trigger-form";
import { triggerOptions } from "@/lib/client/triggers/triggers";
import { useTenant } from "../../shell/viewer";
import { TriggerFormView } from "./trigger-form-view";

/** The templates of a new trigger. */
export type Template = "nightly" | "event";

const TEMPLATES: Readonly<Record<Template, Partial<TriggerFields>>> = {
  nightly: { label: "Every night", cron_expr: "0 2 * * *", definition_key: "sync-folder" },
  event: {
    label: "When a folder changes",
    trigger_type: "event",
    event_name: "provider.folder.updated",
    definition_key: "sync-folder",
    payload_template: JSON.stringify({ provider_id: "{{event.provider_id}}" }, null, 2),
    overlap_policy: "allow",
  },
};

interface TriggerFormPageProps {
  readonly tenantZone: string;
  /** The trigger to change, or to copy into a new one; null for an empty form. */
  readonly id: string | null;
  readonly mode: "new" | "edit";
  readonly template?: Template | null;
}

/** The page that creates or changes a trigger. */
export function TriggerFormPage({ tenantZone, id, mode, template }: TriggerFormPageProps) {
  const { slug } = useTenant();
  const query = useQuery({
    ...triggerOptions(slug, id ?? ""),
    enabled: id !== null,
    refetchOnWindowFocus: false,
    // Always refetch, because the form must start with the stored state, even if the previous page has just read it.
    refetchOnMount: "always",
  });
  const list = `/t/${slug}/jobs/triggers`;
  const isEdit = mode === "edit";
  return (
    <div className="flex flex-col gap-4">
      <BackLink href={isEdit && id ? `${list}/${id}` : list} className="self-start">
        {isEdit ? "Trigger" : "Triggers"}
      </BackLink>
      <h1 className="font-semibold text-xl tracking-tight">{isEdit ? "Edit trigger" : "New trigger"}</h1>
      {id === null ? (
        <TriggerFormView
          initial={{ ...BLANK_TRIGGER, timezone: tenantZone, ...(template ? TEMPLATES[template] : {}) }}
          trigger={null}
          tenantZone={tenantZone}
        />
      ) : query.isError && !query.data ? (
        <div className="panel">
          <QueryProblem query={query} />
        </div>
      ) : query.data && query.isFetchedAfterMount ? (
        <TriggerFormView
          initial={
            isEdit
              ? triggerFieldsOf(query.data)
              : { ...triggerFieldsOf(query.data), label: `Copy of ${query.data.label}` }
          }
          trigger={isEdit ? query.data : null}
          tenantZone={tenantZone}
        />
      ) : (
        <Skeleton className="h-64 w-full rounded-lg" />
      )}
    </div>
  );
}
