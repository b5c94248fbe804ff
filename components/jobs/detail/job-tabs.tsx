"use client";

import { useInfiniteQuery } from "@tanstack/react-query";
import { Tabs } from "radix-ui";
import { JsonView } from "@/components/ui/json-view";
import { Link } from "@/components/ui/link";
import { attemptsOptions } from "@/lib/client/jobs/jobs";
import { usePollInterval } from "@/lib/client/live/use-live";
import { useFirst } from "@/lib/client/use-first";
import type { Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { useTenant } from "../../shell/viewer";
import { ArtifactsTab } from "./artifacts-tab";
import { AttemptsTab } from "./attempts-tab";
import { DetailsTab } from "./details-tab";
import { OutputTab } from "./output-tab";
import { StepsPanel } from "./steps-panel";

export const JOB_TABS = ["attempts", "output", "artifacts", "data", "details"] as const;
type JobTab = (typeof JOB_TABS)[number];

const NAMES: Readonly<Record<JobTab, string>> = {
  attempts: "Attempts",
  output: "Output",
  artifacts: "Artifacts",
  data: "Input and result",
  details: "Details",
};

interface JobTabsProps {
  readonly job: Job;
  readonly tab: JobTab;
  readonly onChange: (tab: JobTab) => void;
}

/** The tabs of a job. */
export function JobTabs({ job, tab, onChange }: JobTabsProps) {
  const { slug } = useTenant();
  const poll = usePollInterval();
  const attempts = useInfiniteQuery({
    ...attemptsOptions(slug, job.id),
    refetchInterval: isTerminal(job.status) ? false : poll,
  });
  const wasLive = useFirst(!isTerminal(job.status)) === true;
  return (
    <Tabs.Root value={tab} onValueChange={(value) => onChange(JOB_TABS.find((known) => known === value) ?? "attempts")}>
      <Tabs.List
        aria-label="About this job"
        className="flex gap-5 overflow-x-auto border-line border-b max-sm:justify-between max-sm:gap-2"
      >
        {JOB_TABS.map((name) => (
          <Tabs.Trigger
            key={name}
            value={name}
            className="-mb-px h-10 shrink-0 border-transparent border-b-2 text-muted text-sm hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
          >
            {NAMES[name]}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      <Tabs.Content value="attempts" className="pt-4 outline-offset-4">
        <AttemptsTab query={attempts} job={job} />
      </Tabs.Content>
      <Tabs.Content value="output" className="pt-4 outline-offset-4">
        <OutputTab job={job} attempts={attempts.data?.pages.flatMap((page) => page.data) ?? []} />
      </Tabs.Content>
      <Tabs.Content value="artifacts" className="pt-4 outline-offset-4">
        <ArtifactsTab job={job} />
      </Tabs.Content>
      <Tabs.Content value="data" className="grid gap-4 pt-4 outline-offset-4 lg:grid-cols-2">
        <DataTab job={job} wasLive={wasLive} />
      </Tabs.Content>
      <Tabs.Content value="details" className="pt-4 outline-offset-4">
        <DetailsTab job={job} />
      </Tabs.Content>
    </Tabs.Root>
  );
}

/** The payload and the result. A result that may still come has its final height before. */
function DataTab({ job, wasLive }: { readonly job: Job; readonly wasLive: boolean }) {
  const { slug } = useTenant();
  return (
    <>
      <JsonView title="Payload" value={job.payload} empty="The job has no payload." />
      <JsonView
        title="Result"
        className={wasLive ? "h-48" : undefined}
        value={job.result}
        empty={isTerminal(job.status) ? "The job has no result." : "No result yet."}
      />
      <StepsPanel job={job} />
      {job.definition_key === "import-csv" && job.status === "succeeded" ? (
        <p className="text-sm">
          <Link href={`/t/${slug}/assets#lists`} className="text-accent underline">
            Imported lists
          </Link>
        </p>
      ) : null}
    </>
  );
}
