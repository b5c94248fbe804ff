"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { FilterSelect } from "@/components/ui/forms/select";
import { Link } from "@/components/ui/link";
import { ListBar } from "@/components/ui/lists/list-bar";
import { TotalPager } from "@/components/ui/lists/pager";
import { Plain } from "@/components/ui/plain";
import { ScrollPre } from "@/components/ui/scroll-pre";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { formatDuration } from "@/lib/client/format";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { type DeliveryListParams, deliveriesOptions, useWebhookAction } from "@/lib/client/webhooks";
import type { WebhookDelivery, WebhookEndpoint } from "@/lib/contract";
import { useReason, useTenant } from "../shell/viewer";
import { OutcomeMark } from "./endpoint-state";

const OUTCOMES = [
  ["failed", "failed"],
  ["delivered", "delivered"],
] as const;

/** Every delivery attempt, newest first, with request and response. */
export function Deliveries({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const { slug } = useTenant();
  const [outcome, setOutcome] = useState<DeliveryListParams["outcome"]>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const options = deliveriesOptions(slug, { id: endpoint.id, outcome, cursor });
  const refetchInterval = usePollInterval(2 * IDLE_POLL_MS);
  const query = useQuery({ ...options, placeholderData: keepPreviousData, refetchInterval });
  const page = query.data;
  const latest = query.isPlaceholderData ? undefined : page?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify([endpoint.id, outcome, cursor]));
  const choose = (value: string) => {
    setCursor(null);
    setOutcome(value === "failed" || value === "delivered" ? value : null);
  };
  return (
    <section aria-label="Deliveries" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="flex-1 font-semibold text-base">Deliveries</h2>
        <FilterSelect
          aria-label="Outcome"
          any="all attempts"
          options={OUTCOMES}
          value={outcome ?? ""}
          onChoose={choose}
        />
      </div>
      <div className="panel overflow-clip">
        {rows && rows.length > 0 ? (
          <ListBar
            noun="attempt"
            waiting={cursor === null ? shown.waiting.length : 0}
            onShow={() => showWaiting()}
            loaded
            staleSince={query.isError ? query.dataUpdatedAt : null}
            onRetry={() => void query.refetch()}
          />
        ) : null}
        {query.isError && !page ? (
          <QueryProblem query={query} />
        ) : (
          <DeliveryRows rows={rows} enabled={endpoint.is_enabled} narrowed={outcome !== null} />
        )}
        <TotalPager inPlace page={page} unit="in all" cursor={cursor} onTurn={setCursor} />
      </div>
    </section>
  );
}

interface DeliveryRowsProps {
  /** Undefined while the first answer is loading. */
  readonly rows: readonly WebhookDelivery[] | undefined;
  readonly enabled: boolean;
  readonly narrowed: boolean;
}

function DeliveryRows({ rows, enabled, narrowed }: DeliveryRowsProps) {
  if (!rows) {
    return (
      <div className="p-4">
        <Skeleton className="h-4 w-56 max-w-full" />
      </div>
    );
  }
  if (rows.length === 0) {
    return (
      <p className="px-4 py-6 text-muted text-sm">
        {narrowed ? "No such attempt in the last 30 days." : "No message was sent yet. Choose “Send test” to send one."}
      </p>
    );
  }
  return (
    <ul>
      {rows.map((delivery) => (
        <DeliveryRow key={delivery.id} delivery={delivery} enabled={enabled} />
      ))}
    </ul>
  );
}

function DeliveryRow({ delivery, enabled }: { readonly delivery: WebhookDelivery; readonly enabled: boolean }) {
  const { slug } = useTenant();
  const toast = useToast();
  const mutation = useWebhookAction(slug);
  const noWrite = useReason("webhooks:write") ?? (enabled ? null : "It is disabled.");
  const [open, setOpen] = useState(false);
  const resend = () =>
    mutation.mutate(
      { action: "resend", delivery },
      {
        onSuccess: () => toast({ title: "Message queued again" }),
        onError: (error) => toast({ title: "Could not send it again", detail: error.message, tone: "bad" }),
      },
    );
  return (
    <li className="border-line not-first:border-t">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5">
        <div className="w-44 max-sm:w-full">
          <OutcomeMark delivery={delivery} />
        </div>
        <div className="min-w-0 flex-1 basis-40">
          <p className="truncate font-mono text-sm">{delivery.type}</p>
          <p className="truncate text-muted text-xs">
            <Link href={`/t/${slug}/jobs/${delivery.job_id}`} className="underline">
              job
            </Link>
            {`, attempt ${delivery.attempt_no}, ${formatDuration(delivery.duration_ms)}`}
          </p>
        </div>
        <span className="text-muted text-xs">
          <Time value={delivery.started_at} />
        </span>
        <div className="flex gap-1">
          <Button size="sm" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Less" : "Details"}
          </Button>
          <Button size="sm" reason={noWrite} busy={mutation.isPending} onClick={resend}>
            Resend
          </Button>
        </div>
      </div>
      {open ? <Details delivery={delivery} /> : null}
    </li>
  );
}

function Details({ delivery }: { readonly delivery: WebhookDelivery }) {
  return (
    <div className="grid gap-3 border-line border-t bg-sunken px-4 py-3 lg:grid-cols-2">
      {delivery.error_text ? <p className="text-bad text-sm lg:col-span-2">{delivery.error_text}</p> : null}
      <Text title="Request" text={delivery.request} />
      <Text
        title="Answer"
        text={delivery.response === null ? "There was none." : delivery.response || "It was empty."}
      />
    </div>
  );
}

function Text({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <section aria-label={title} className="min-w-0">
      <h3 className="mb-1 font-medium text-muted text-xs">{title}</h3>
      <ScrollPre className="max-h-64 overflow-auto whitespace-pre-wrap break-all rounded-md border border-line bg-panel px-3 py-2 font-mono text-xs">
        <Plain text={text} />
      </ScrollPre>
    </section>
  );
}
