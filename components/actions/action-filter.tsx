import type { ReactNode } from "react";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { isRecord } from "@/lib/client/is-record";
import { JOB_STATUSES } from "@/lib/queue/states";
import { STATUS_LOOKS } from "../jobs/status";

const NAMES: Readonly<Record<string, string>> = {
  definition_key: "Definition",
  q: "Id or definition",
};
const INSTANTS: readonly string[] = ["created_after", "created_before"];

/** The filter of a bulk action, one condition per line. */
export function ActionFilter({ filter }: { readonly filter: unknown }) {
  const conditions = isRecord(filter) ? Object.entries(filter) : [];
  return (
    <section aria-label="For jobs that match" className="panel overflow-hidden">
      <h2 className="border-line border-b px-4 py-2.5 font-medium text-sm">For jobs that match</h2>
      {conditions.length === 0 ? <p className="px-4 py-3 text-muted text-sm">Every job.</p> : null}
      <dl className="grid grid-cols-[7.5rem_minmax(0,1fr)] divide-y divide-line text-sm sm:grid-cols-[12rem_minmax(0,1fr)]">
        {conditions.map(([name, value]) => (
          <div key={name} className="col-span-2 grid grid-cols-subgrid px-4 py-1.5">
            <dt className="text-muted">{NAMES[name] ?? sentence(name)}</dt>
            <dd className="min-w-0 break-words">{textOf(name, value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function textOf(name: string, value: unknown): ReactNode {
  if (typeof value === "string" && INSTANTS.includes(name)) return <Time value={value} kind="absolute" />;
  if (Array.isArray(value)) return value.map(wordOf).join(", ");
  return <Plain text={wordOf(value)} />;
}

function wordOf(value: unknown): string {
  const status = JOB_STATUSES.find((one) => one === value);
  if (status) return STATUS_LOOKS[status].label;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function sentence(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
