"use client";

import { useHydrated, useNow } from "@/lib/client/clock";
import { formatDuration, formatLocal, formatRelative, formatUtc, type TimeZoneChoice } from "@/lib/client/format";
import { usePreference } from "@/lib/client/preferences";

export const TIME_ZONES = ["local", "utc"] as const satisfies readonly TimeZoneChoice[];

interface TimeProps {
  readonly value: string;
  /** `absolute` prints date, time and zone; `relative` prints `4 s ago` and has the rest in the title. */
  readonly kind?: "relative" | "absolute";
}

/** An instant. The server and the first render use UTC only; afterwards the browser prints the user's choice. */
export function Time({ value, kind = "relative" }: TimeProps) {
  const now = useNow();
  const [zone] = usePreference<TimeZoneChoice>("zone", TIME_ZONES);
  const hydrated = useHydrated();
  const utc = formatUtc(value);
  const absolute = hydrated && zone === "local" ? formatLocal(value) : utc;
  const both = absolute === utc ? utc : `${absolute}\n${utc}`;
  return (
    <time dateTime={value} title={both} className={kind === "relative" ? "whitespace-nowrap" : undefined}>
      {kind === "absolute" ? absolute : formatRelative(Date.parse(value), now)}
    </time>
  );
}

/** The time between two instants; without an end it ticks. */
export function Elapsed({ from, to }: { readonly from: string; readonly to: string | null }) {
  const now = useNow();
  const end = to === null ? now : Date.parse(to);
  return <span className="tabular whitespace-nowrap">{formatDuration(end - Date.parse(from))}</span>;
}
