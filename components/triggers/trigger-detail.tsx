"use client";

import { useQuery } from "@tanstack/react-query";
import { Copy, PencilLine, Play, Trash2, TriangleAlert } from "lucide-react";
import { useRouter } from "next/navigation";
import { BackLink } from "@/components/ui/back-link";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { Plain } from "@/components/ui/plain";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { Switch } from "@/components/ui/switch";
import { isAbsent } from "@/lib/client/http";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { triggerOptions } from "@/lib/client/triggers/triggers";
import type { Trigger } from "@/lib/contract";
import { PageLiveIndicator } from "../shell/live-indicator";
import { useTenant } from "../shell/viewer";
import { EventTest } from "./event-test/event-test";
import { Firings } from "./firings";
import { TriggerSettingsPanel } from "./trigger-settings";
import { TriggerMarks } from "./trigger-state";
import { UpcomingInstants } from "./upcoming-instants";
import { type TriggerActions, useTriggerActions } from "./use-trigger-actions";
import { reasonWords, whenWords } from "./words";

/** One trigger: what it does, what it did, and what it skipped. */
export function TriggerDetail({ id }: { readonly id: string }) {
  const { slug } = useTenant();
  const refetchInterval = usePollInterval(2 * IDLE_POLL_MS);
  const query = useQuery({ ...triggerOptions(slug, id), refetchInterval });
  const absent = isAbsent(query.error);
  return (
    <div className="flex flex-col gap-4">
      {/* Later messages appear in this line, where they move nothing. */}
      <div className="flex h-7 items-center gap-4">
        <BackLink href={`/t/${slug}/jobs/triggers`}>Triggers</BackLink>
        <p className="min-w-0 flex-1 truncate text-sm text-warn">
          {query.data && query.isError && !absent ? "Could not refresh. The data shown may be out of date." : null}
        </p>
        <PageLiveIndicator />
      </div>
      {query.data && !absent ? (
        <LoadedTrigger trigger={query.data} />
      ) : query.isError ? (
        <div className="panel">
          <h1 className="sr-only">Trigger</h1>
          <QueryProblem query={query} />
        </div>
      ) : (
        <Skeleton className="h-64 w-full rounded-lg" />
      )}
    </div>
  );
}

function LoadedTrigger({ trigger }: { readonly trigger: Trigger }) {
  const { slug } = useTenant();
  const router = useRouter();
  const actions = useTriggerActions(() => router.push(`/t/${slug}/jobs/triggers`));
  const isEvent = trigger.trigger_type === "event";
  return (
    <>
      <header className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <TriggerTitle trigger={trigger} />
        <HeaderActions trigger={trigger} actions={actions} />
      </header>
      {trigger.status === "broken" ? <BrokenNotice reason={trigger.status_reason ?? "unknown"} /> : null}
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(20rem,26rem)]">
        <div className="flex min-w-0 flex-col gap-4">
          <Firings triggerId={trigger.id} definitionKey={trigger.definition_key} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          {isEvent ? (
            <EventTest
              eventName={trigger.event_name ?? ""}
              target={{ trigger_id: trigger.id }}
              definitionKey={trigger.definition_key}
              sendable
            />
          ) : (
            <UpcomingInstants trigger={trigger} />
          )}
          <TriggerSettingsPanel trigger={trigger} />
        </div>
      </div>
      {actions.dialog}
    </>
  );
}

function TriggerTitle({ trigger }: { readonly trigger: Trigger }) {
  return (
    <div className="min-w-0 flex-1 basis-64">
      <div className="flex flex-wrap items-center gap-2">
        <h1 className="min-w-0 break-words font-semibold text-xl tracking-tight">
          <Plain text={trigger.label} />
        </h1>
        <TriggerMarks trigger={trigger} />
      </div>
      <p className="break-words text-muted text-sm">
        <Plain text={whenWords(trigger)} />
      </p>
      <p className="flex items-center text-muted text-xs">
        <code className="truncate font-mono">{trigger.id}</code>
        <CopyButton text={trigger.id} label="Copy trigger id" />
      </p>
    </div>
  );
}

function BrokenNotice({ reason }: { readonly reason: string }) {
  return (
    <p role="alert" className="flex gap-2 rounded-md bg-bad-soft px-4 py-2.5 text-bad text-sm">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 break-words">
        It cannot fire: <Plain text={reasonWords(reason)} />. Saving it mended, or switching it off and on, lets it try
        again.
      </span>
    </p>
  );
}

function HeaderActions({ trigger, actions }: { readonly trigger: Trigger; readonly actions: TriggerActions }) {
  const { slug } = useTenant();
  const router = useRouter();
  const { noWrite } = actions;
  const list = `/t/${slug}/jobs/triggers`;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Switch
        label={`${trigger.label} is on`}
        on={trigger.is_enabled}
        reason={noWrite}
        onChange={(on) => actions.toggle(trigger, on)}
      />
      <Button reason={noWrite} onClick={() => actions.run(trigger)}>
        <Play aria-hidden className="size-3.5" />
        Run now
      </Button>
      <Button reason={noWrite} onClick={() => router.push(`${list}/${trigger.id}/edit`)}>
        <PencilLine aria-hidden className="size-3.5" />
        Edit
      </Button>
      <Button reason={noWrite} onClick={() => router.push(`${list}/new?from=${trigger.id}`)}>
        <Copy aria-hidden className="size-3.5" />
        Duplicate
      </Button>
      <Button variant="danger" reason={noWrite} onClick={() => actions.remove(trigger)}>
        <Trash2 aria-hidden className="size-3.5" />
        Delete
      </Button>
    </div>
  );
}
