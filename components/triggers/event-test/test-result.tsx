"use client";

import { Check, type LucideIcon, X } from "lucide-react";
import { cn } from "@/components/ui/cn";
import { JsonView } from "@/components/ui/json-view";
import { Link } from "@/components/ui/link";
import { Plain } from "@/components/ui/plain";
import { Skeleton } from "@/components/ui/states";
import { plural } from "@/lib/client/format";
import { ApiError } from "@/lib/client/http";
import type { TriggerTest } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";

interface TestResultProps {
  readonly result: TriggerTest | undefined;
  readonly error: Error | null;
  readonly definitionKey: string;
}

const MISMATCHES = {
  name: "It listens to events of another name.",
  condition: "Its condition is false.",
  disabled: "It is disabled.",
  expired: "It has expired.",
} as const;

/** The result of testing one event with one trigger. */
export function TestResult({ result, error, definitionKey }: TestResultProps) {
  if (error) return <Refused error={error} />;
  if (!result) return <Skeleton className="h-5 w-40" />;
  const { matched, mismatch, parts, verdict, payload, problems, dedupe } = result;
  return (
    <div aria-live="polite" className="flex flex-col gap-3">
      <Verdict good={matched && verdict !== "fail"}>
        {matched ? verdictWords(verdict, definitionKey) : `No match. ${mismatch ? MISMATCHES[mismatch] : ""}`}
      </Verdict>
      {parts.length > 0 ? (
        <ul aria-label="Parts of the condition" className="flex flex-col gap-1">
          {parts.map(({ text, holds, detail }) => (
            <li key={text} className="flex items-start gap-2 text-sm">
              <Mark good={holds} />
              <span className="min-w-0 break-words">
                <code className="font-mono text-xs">
                  <Plain text={text} />
                </code>
                <span className="text-muted"> {holds ? "holds" : "is false"}</span>
                {detail ? (
                  <span className="block text-muted text-xs">
                    <Plain text={detail} />
                  </span>
                ) : null}
              </span>
            </li>
          ))}
        </ul>
      ) : null}
      {problems.length > 0 ? (
        <ul className="flex flex-col gap-1 text-bad text-sm">
          {problems.map(({ pointer, detail }) => (
            <li key={`${pointer} ${detail}`} className="break-words">
              <code className="font-mono text-xs">{pointer || "payload"}</code> {detail}
            </li>
          ))}
        </ul>
      ) : null}
      {dedupe ? <Dedupe dedupe={dedupe} /> : null}
      {matched && payload !== null && payload !== undefined ? (
        <JsonView title="Payload" value={payload} empty="" />
      ) : null}
    </div>
  );
}

function verdictWords(verdict: TriggerTest["verdict"], definitionKey: string): string {
  const job = definitionKey || "its";
  if (verdict === "deduplicate") return `Matches, but its ${job} job exists already. No job is started.`;
  return verdict === "fail" ? "Matches, but no job can be created." : `Matches: starts a ${job} job.`;
}

function Dedupe({ dedupe }: { readonly dedupe: NonNullable<TriggerTest["dedupe"]> }) {
  const { slug } = useTenant();
  const held = dedupe.held_by_job_id;
  return (
    <p className="break-words text-muted text-xs">
      Dedupe key, valid for {plural(dedupe.window_seconds, "second")}:{" "}
      <code className="break-all font-mono">
        <Plain oneLine text={dedupe.key} />
      </code>
      {held === null ? (
        ", held by no job"
      ) : (
        <>
          , held by{" "}
          <Link href={`/t/${slug}/jobs/${held}`} className="text-accent underline">
            a job
          </Link>
        </>
      )}
    </p>
  );
}

function Verdict({ good, children }: { readonly good: boolean; readonly children: string }) {
  return (
    <p
      className={cn(
        "flex items-start gap-2 rounded-md px-3 py-2 font-medium text-sm",
        good ? "bg-ok-soft text-ok" : "bg-warn-soft text-warn",
      )}
    >
      <Mark good={good} />
      {children}
    </p>
  );
}

function Mark({ good }: { readonly good: boolean }) {
  const Icon: LucideIcon = good ? Check : X;
  return <Icon aria-hidden className={cn("mt-0.5 size-4 shrink-0", good ? "text-ok" : "text-warn")} />;
}

function Refused({ error }: { readonly error: Error }) {
  const faults = error instanceof ApiError ? error.errors : [];
  if (faults.length === 0) return <p className="text-bad text-sm">{error.message}</p>;
  return (
    <ul className="flex flex-col gap-1 text-bad text-sm">
      {faults.map(({ pointer, detail }) => (
        <li key={`${pointer} ${detail}`} className="break-words">
          <code className="font-mono text-xs">{pointer.replace(/^\/draft/, "") || "request"}</code> {detail}
        </li>
      ))}
    </ul>
  );
}
