"use client";

import { Pause, Play, RefreshCw } from "lucide-react";
import { cn } from "@/components/ui/cn";
import type { FeedState } from "@/lib/client/live/live-feed";
import { useLive } from "@/lib/client/live/use-live";

const LOOKS: Readonly<Record<FeedState, { label: string; hint: string; className: string }>> = {
  connecting: { label: "Connecting", hint: "Connecting to the live stream", className: "text-muted" },
  live: { label: "Live", hint: "Changes appear as they happen. Click to pause.", className: "text-ok" },
  reconnecting: {
    label: "Reconnecting",
    hint: "Disconnected. Refreshing every few seconds.",
    className: "text-warn",
  },
  paused: { label: "Paused", hint: "Updates paused. Click to resume.", className: "text-muted" },
};

/** Shows whether the page is live; a click pauses or resumes updates. */
export function LiveIndicator() {
  const live = useLive();
  if (!live) return null;
  const look = LOOKS[live.state];
  const paused = live.state === "paused";
  return (
    <button
      type="button"
      aria-pressed={paused}
      aria-label={`${look.label}. ${paused ? "Resume" : "Pause"} live updates`}
      title={look.hint}
      onClick={() => live.setPaused(!paused)}
      className={cn(
        "group inline-flex h-7 w-32 items-center justify-center gap-2 rounded-full border border-line bg-panel font-medium text-xs hover:bg-hover max-sm:h-9",
        look.className,
      )}
    >
      <StateMark state={live.state} />
      {look.label}
    </button>
  );
}

/** The indicator in the header of a page. Narrow screens show it in the top bar instead. */
export function PageLiveIndicator() {
  return (
    <span className="hidden lg:block">
      <LiveIndicator />
    </span>
  );
}

function StateMark({ state }: { readonly state: FeedState }) {
  if (state === "reconnecting" || state === "connecting") {
    return <RefreshCw aria-hidden className="size-3 animate-spin-slow" />;
  }
  if (state === "paused") return <Play aria-hidden className="size-3" />;
  return (
    <>
      <span aria-hidden className="size-2 rounded-full bg-ok group-hover:hidden" />
      <Pause aria-hidden className="hidden size-2 group-hover:block" />
    </>
  );
}
