/*
 * The Webhooks page and the page of one endpoint: its settings, its state, and its delivery attempts with the
 * beginnings of request and response. A secret is shown once, when it is created. Saved values of custom headers are
 * never shown, only their names.
 *
 * Start with the page below, then `endpoint-detail.tsx`, `deliveries.tsx` and `endpoint-dialog.tsx`.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { Webhook } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { PageHeader } from "@/components/ui/page-header";
import { Plain } from "@/components/ui/plain";
import { Empty, Skeleton } from "@/components/ui/states";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { isDelivery, webhookKeys, webhooksOptions } from "@/lib/client/webhooks";
import type { WebhookEndpoint } from "@/lib/contract";
import { useReason, useTenant } from "../shell/viewer";
import { EndpointDialog } from "./endpoint-dialog";
import { EndpointState, LastDelivery } from "./endpoint-state";

/** The endpoints that the tenant's messages are sent to. */
export function WebhooksPage() {
  const { slug } = useTenant();
  const noWrite = useReason("webhooks:write");
  const [adding, setAdding] = useState(false);
  const refetchInterval = usePollInterval(IDLE_POLL_MS);
  const query = useQuery({ ...webhooksOptions(slug), refetchInterval });
  useRefresh(webhookKeys.all(slug), isDelivery);
  const {
    rows: endpoints,
    shown,
    showWaiting,
  } = usePinnedRows(query.data?.data, slug, { whole: true, followsOwnChanges: true });
  return (
    <div className="flex flex-col gap-4">
      <PageHeader title="Webhooks" about="Signed messages are sent to these addresses of yours.">
        <Button variant="primary" reason={noWrite} onClick={() => setAdding(true)}>
          Add endpoint
        </Button>
      </PageHeader>
      <ListPanel
        label="Endpoints"
        noun="endpoint"
        query={query}
        rows={endpoints}
        waiting={shown.waiting.length}
        onShow={() => showWaiting()}
        empty={<NoEndpoints noWrite={noWrite} onAdd={() => setAdding(true)} />}
      >
        {endpoints ? (
          <ul>
            {endpoints.map((endpoint) => (
              <EndpointRow key={endpoint.id} endpoint={endpoint} gone={shown.gone.has(endpoint.id)} />
            ))}
          </ul>
        ) : (
          <div className="p-4">
            <Skeleton className="h-4 w-56 max-w-full" />
          </div>
        )}
      </ListPanel>
      <EndpointDialog open={adding} onClose={() => setAdding(false)} />
    </div>
  );
}

function NoEndpoints({ noWrite, onAdd }: { readonly noWrite: string | null; readonly onAdd: () => void }) {
  return (
    <Empty icon={Webhook} title="No endpoint yet">
      <p>
        Add the address of a service of yours. Jobs of the definition <code>deliver-webhook</code> post messages to it,
        started by a trigger, by code or manually.
      </p>
      <Button reason={noWrite} onClick={onAdd}>
        Add the first one
      </Button>
    </Empty>
  );
}

function EndpointRow({ endpoint, gone }: { readonly endpoint: WebhookEndpoint; readonly gone: boolean }) {
  const { slug } = useTenant();
  return (
    <li
      className={cn(
        "relative flex flex-wrap items-center gap-x-4 gap-y-1 border-line px-4 py-3 not-first:border-t hover:bg-hover",
        gone && "text-muted",
      )}
    >
      <div className="min-w-0 flex-1 basis-64">
        <Link
          href={`/t/${slug}/webhooks/${endpoint.id}`}
          className="block truncate rounded-sm font-medium font-mono text-sm after:absolute after:inset-0 hover:underline"
        >
          <Plain oneLine text={endpoint.url} />
        </Link>
        <p className="truncate text-muted text-xs">
          {endpoint.description ? (
            <>
              <Plain oneLine text={endpoint.description} />
              {" · "}
            </>
          ) : null}
          {endpoint.event_types?.join(", ") ?? "all types"}
        </p>
      </div>
      <LastDelivery endpoint={endpoint} />
      <EndpointState endpoint={endpoint} />
    </li>
  );
}
