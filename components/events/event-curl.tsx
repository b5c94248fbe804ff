"use client";

import { CopyButton } from "@/components/ui/copy-button";
import { useHydrated } from "@/lib/client/clock";
import type { EventDraft } from "./event-draft";

/** The curl command that publishes the same event with an API key. */
export function EventCurl({ name, data }: EventDraft) {
  const origin = useHydrated() ? window.location.origin : "";
  const body = JSON.stringify({ name, data }).replaceAll("'", "'\\''");
  const curl = `curl -X POST ${origin}/api/v1/events \\
  -H "Authorization: Bearer $LEASEHOLD_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
  return (
    <div className="w-full min-w-0 text-left">
      <div className="flex items-center justify-between">
        <p className="text-muted text-xs">The same with an API key:</p>
        <CopyButton text={curl} label="Copy the command" caption="Copy" />
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="overflow-x-auto rounded-md border border-line bg-sunken p-3 font-mono text-ink text-xs"
      >
        {curl}
      </pre>
    </div>
  );
}
