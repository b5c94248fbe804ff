"use client";

import { useQuery } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { type ReactNode, useState } from "react";
import { BackLink } from "@/components/ui/back-link";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ConfirmDialog } from "@/components/ui/forms/confirm-dialog";
import { DialogFormContent } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { Plain } from "@/components/ui/plain";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { isDelivery, useWebhookAction, type WebhookAction, webhookKeys, webhookOptions } from "@/lib/client/webhooks";
import type { WebhookEndpoint } from "@/lib/contract";
import { useReason, useTenant } from "../shell/viewer";
import { Deliveries } from "./deliveries";
import { EndpointDialog } from "./endpoint-dialog";
import { EndpointState } from "./endpoint-state";
import { NewSecret } from "./new-secret";
import { VerifySample } from "./verify-sample";

/** One endpoint: its settings, its actions, and its delivery attempts. */
export function EndpointDetail({ id }: { readonly id: string }) {
  const { slug } = useTenant();
  const refetchInterval = usePollInterval(2 * IDLE_POLL_MS);
  const query = useQuery({ ...webhookOptions(slug, id), refetchInterval });
  // Also covers the list of deliveries below.
  useRefresh(webhookKeys.one(slug, id), isDelivery);
  if (query.isError && !query.data) {
    return (
      <div className="flex flex-col gap-4">
        <BackLink href={`/t/${slug}/webhooks`} className="mb-2">
          Webhooks
        </BackLink>
        <div className="panel">
          <h1 className="sr-only">Webhook endpoint</h1>
          <QueryProblem query={query} />
        </div>
      </div>
    );
  }
  if (!query.data) return <Skeleton className="h-6 w-72 max-w-full" />;
  return (
    <div className="flex flex-col gap-5">
      <Headline endpoint={query.data} />
      <Facts endpoint={query.data} />
      <VerifySample />
      {/* Last, because it grows while the page is open. */}
      <Deliveries endpoint={query.data} />
    </div>
  );
}

type Open = "change" | "rotate" | "delete" | null;

function Headline({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const { slug } = useTenant();
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  return (
    <header className="flex flex-wrap items-start gap-x-4 gap-y-3">
      <div className="min-w-0 flex-1 basis-72">
        <BackLink href={`/t/${slug}/webhooks`} className="mb-2">
          Webhooks
        </BackLink>
        <h1 className="break-all font-mono font-semibold text-lg tracking-tight">
          <Plain text={endpoint.url} />
        </h1>
        {endpoint.description ? (
          <p className="break-words text-muted text-sm">
            <Plain text={endpoint.description} />
          </p>
        ) : null}
        <p className="mt-1">
          <EndpointState endpoint={endpoint} />
        </p>
      </div>
      <Actions endpoint={endpoint} onOpen={setOpen} />
      <EndpointDialog open={open === "change"} endpoint={endpoint} onClose={close} />
      <Dialog title="New secret" open={open === "rotate"} onClose={close}>
        <Rotate endpoint={endpoint} onClose={close} />
      </Dialog>
      {open === "delete" ? <DeleteQuestion endpoint={endpoint} onClose={close} /> : null}
    </header>
  );
}

interface ActionsProps {
  readonly endpoint: WebhookEndpoint;
  readonly onOpen: (what: Open) => void;
}

function Actions({ endpoint, onOpen }: ActionsProps) {
  const { run, busy } = useEndpointAction();
  const noWrite = useReason("webhooks:write");
  const { is_enabled: on } = endpoint;
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        reason={noWrite ?? (on ? null : "It is disabled.")}
        busy={busy === "test"}
        onClick={() => run({ action: "test", endpoint }, "Test message queued")}
      >
        Send test
      </Button>
      <Button
        reason={noWrite}
        busy={busy === "change"}
        onClick={() => run({ action: "change", endpoint, body: { is_enabled: !on } }, on ? "Disabled" : "Enabled")}
      >
        {on ? "Disable" : "Enable"}
      </Button>
      <Button reason={noWrite} onClick={() => onOpen("change")}>
        Change
      </Button>
      <Button reason={noWrite} onClick={() => onOpen("rotate")}>
        New secret
      </Button>
      <Button variant="danger" reason={noWrite} onClick={() => onOpen("delete")}>
        Delete
      </Button>
    </div>
  );
}

/** Returns a function that runs an action and shows the result in a notice. */
function useEndpointAction() {
  const { slug } = useTenant();
  const toast = useToast();
  const mutation = useWebhookAction(slug);
  const run = (wanted: WebhookAction, done: string, onDone?: () => void) =>
    mutation.mutate(wanted, {
      onSuccess: () => {
        toast({ title: done });
        onDone?.();
      },
      onError: (error) => toast({ title: "The action failed", detail: error.message, tone: "bad" }),
    });
  return { run, busy: mutation.isPending ? mutation.variables.action : null };
}

function Rotate({ endpoint, onClose }: { readonly endpoint: WebhookEndpoint; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const mutation = useWebhookAction(slug);
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const rotate = () =>
    mutation.mutate({ action: "rotate", endpoint }, { onError: ({ message }) => setFaults(new Map([["", message]])) });
  if (mutation.data?.secret) return <NewSecret secret={mutation.data.secret} onClose={onClose} />;
  return (
    <DialogFormContent
      submit="Rotate secret"
      faults={faults}
      busy={mutation.isPending}
      onSubmit={rotate}
      onClose={onClose}
      className="gap-3 text-sm"
    >
      <p>Messages are signed with both secrets for 24 hours, then with the new one alone.</p>
      {endpoint.previous_secret_until ? <p>The previous secret stays valid for 24 hours.</p> : null}
    </DialogFormContent>
  );
}

function DeleteQuestion({ endpoint, onClose }: { readonly endpoint: WebhookEndpoint; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const router = useRouter();
  const { run, busy } = useEndpointAction();
  return (
    <ConfirmDialog
      title="Delete this endpoint?"
      keep="Keep it"
      action="Delete"
      busy={busy === "delete"}
      onConfirm={() => run({ action: "delete", endpoint }, "Deleted", () => router.push(`/t/${slug}/webhooks`))}
      onClose={onClose}
    >
      <p>Its secrets and its log are deleted at once. Waiting messages fail.</p>
    </ConfirmDialog>
  );
}

function Facts({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const { header_names: headers, previous_secret_until: until } = endpoint;
  return (
    <dl className="panel grid gap-x-6 gap-y-3 px-4 py-3 text-sm sm:grid-cols-2 lg:grid-cols-4">
      <Fact name="Types">{endpoint.event_types?.join(", ") ?? "all"}</Fact>
      <Fact name="Custom headers">{headers.length > 0 ? headers.join(", ") : "none"}</Fact>
      <Fact name="Secret">
        {until ? (
          <>
            two, until <Time value={until} kind="absolute" />
          </>
        ) : (
          "one"
        )}
      </Fact>
      <Fact name="Added">
        <Time value={endpoint.created_at} kind="absolute" />
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-muted text-xs">{name}</dt>
      <dd className="break-words">{children}</dd>
    </div>
  );
}
