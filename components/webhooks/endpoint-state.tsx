"use client";

import { CircleAlert, CircleCheck, CircleOff, CircleX } from "lucide-react";
import { cn } from "@/components/ui/cn";
import { Time } from "@/components/ui/time";
import type { WebhookDelivery, WebhookEndpoint } from "@/lib/contract";

const WHY_OFF = {
  manual: "Disabled",
  gone: "Off: it answered 410",
  failing: "Off: failing for 5 days",
} as const;

/** Shows whether an endpoint is enabled and whether deliveries succeed, in words with a mark. */
export function EndpointState({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const { disabled_reason: off, failing_since: failing } = endpoint;
  if (off) {
    const tone = off === "manual" ? "text-muted" : "text-bad";
    return <Mark icon={CircleOff} tone={tone} text={WHY_OFF[off]} />;
  }
  if (failing) {
    return (
      <span className="inline-flex items-center gap-1.5 text-sm text-warn">
        <CircleAlert aria-hidden className="size-4 shrink-0" />
        <span>
          Failing, since <Time value={failing} />
        </span>
      </span>
    );
  }
  return <Mark icon={CircleCheck} tone="text-ok" text="On" />;
}

/** The outcome of the newest attempt. */
export function LastDelivery({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const { last_delivery: last } = endpoint;
  if (!last) return <span className="text-muted text-xs max-sm:basis-full">nothing sent yet</span>;
  return (
    <span className="truncate text-muted text-xs max-sm:basis-full">
      last: {last.error_code ? outcomeText(last) : `${last.status_code}`}, <Time value={last.started_at} />
    </span>
  );
}

type Outcome = Pick<WebhookDelivery, "status_code" | "error_code">;

/** Formats an outcome: `200`, `500`, `connection refused` … */
export function outcomeText({ status_code: status, error_code: error }: Outcome): string {
  if (error === null || error === "http_status") return String(status ?? "no answer");
  const words = error.replaceAll("_", " ");
  return status === null ? words : `${status}, ${words}`;
}

/** The outcome of an attempt, as a mark with words. */
export function OutcomeMark({ delivery }: { readonly delivery: Outcome }) {
  const failed = delivery.error_code !== null;
  return (
    <Mark icon={failed ? CircleX : CircleCheck} tone={failed ? "text-bad" : "text-ok"} text={outcomeText(delivery)} />
  );
}

interface MarkProps {
  readonly icon: typeof CircleCheck;
  readonly tone: string;
  readonly text: string;
}

function Mark({ icon: Icon, tone, text }: MarkProps) {
  return (
    <span className={cn("inline-flex items-center gap-1.5 text-sm", tone)}>
      <Icon aria-hidden className="size-4 shrink-0" />
      {text}
    </span>
  );
}
