"use client";

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { Plain } from "@/components/ui/plain";
import { QueryProblem } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { formatBytes } from "@/lib/client/format";
import { stepsOptions } from "@/lib/client/jobs/jobs";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import type { Job, Step } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { useTenant } from "../../shell/viewer";

/** The completed steps of the job's attempts; renders nothing if there are none. */
export function StepsPanel({ job }: { readonly job: Job }) {
  const { slug } = useTenant();
  const poll = usePollInterval();
  const query = useQuery({ ...stepsOptions(slug, job.id), refetchInterval: isTerminal(job.status) ? false : poll });
  const list = query.data;
  const known = useMemo(() => list?.map((step) => ({ ...step, id: `${step.run_no}:${step.name}` })), [list]);
  const { rows: steps = [], shown, showWaiting } = usePinnedRows(known, job.id, { whole: true });
  if (query.isError && !query.data) {
    return (
      <div className="panel lg:col-span-2">
        <QueryProblem query={query} />
      </div>
    );
  }
  if (steps.length === 0) return null;
  return (
    <section aria-label="Steps" className="panel min-w-0 overflow-hidden lg:col-span-2">
      <h2 className="flex h-10 items-center gap-2 border-line border-b px-4 font-medium text-sm">
        Steps
        <ShowNewest className="ml-auto" noun="step" waiting={shown.waiting.length} onShow={() => showWaiting()} />
      </h2>
      <ol className="divide-y divide-line text-sm">
        {steps.map((step) => (
          <StepRow key={step.id} step={step} runs={job.run_no} />
        ))}
      </ol>
    </section>
  );
}

function StepRow({ step, runs }: { readonly step: Step; readonly runs: number }) {
  return (
    <li className="flex flex-wrap items-baseline gap-x-4 gap-y-1 px-4 py-2">
      <span className="min-w-0 break-words font-medium">
        <Plain text={step.name} oneLine />
      </span>
      <span className="text-muted text-xs">
        {runs > 1 ? `run ${step.run_no}, ` : ""}attempt #{step.attempt_no}, <Time value={step.created_at} />
      </span>
      <code className="min-w-0 basis-full break-words font-mono text-muted text-xs">
        {step.result_omitted ? (
          `${formatBytes(step.result_bytes)} of result`
        ) : (
          <Plain text={JSON.stringify(step.result)} />
        )}
      </code>
    </li>
  );
}
