"use client";

import { JsonView } from "@/components/ui/json-view";
import { Link } from "@/components/ui/link";
import { CopiedCode, FactRow } from "@/components/ui/lists/fact-row";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { formatDuration } from "@/lib/client/format";
import type { Job } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";
import { JobSourceLine } from "../job-source";
import { RetryLink } from "../retry-links";
import { ChildrenPanel } from "./children-panel";

/** All remaining data of the job. */
export function DetailsTab({ job }: { readonly job: Job }) {
  const { slug } = useTenant();
  const hasMetadata = typeof job.metadata === "object" && job.metadata !== null && Object.keys(job.metadata).length > 0;
  return (
    <div className="flex flex-col gap-4">
      <dl className="panel grid grid-cols-[6.5rem_minmax(0,1fr)] sm:grid-cols-[12rem_minmax(0,1fr)] divide-y divide-line overflow-hidden text-sm">
        <WhatRows job={job} />
        <TimeRows job={job} />
        <WorkerRows job={job} />
        <LinkRows job={job} />
      </dl>
      {hasMetadata ? <JsonView title="Metadata" value={job.metadata} empty="" /> : null}
      <ChildrenPanel slug={slug} job={job} />
    </div>
  );
}

interface RowsProps {
  readonly job: Job;
}

function WhatRows({ job }: RowsProps) {
  return (
    <>
      <FactRow name="Job id">
        <CopiedCode text={job.id} />
      </FactRow>
      <FactRow name="Definition">
        {job.definition_key} <span className="text-muted">version {job.definition_version}</span>
      </FactRow>
      <FactRow name="Queue">{job.queue}</FactRow>
      <FactRow name="Priority">{job.priority}</FactRow>
      <FactRow name="Source">
        <JobSourceLine job={job} />
      </FactRow>
      <FactRow name="Tags">{job.tags.length > 0 ? <Tags tags={job.tags} /> : <None />}</FactRow>
    </>
  );
}

function TimeRows({ job }: RowsProps) {
  return (
    <>
      <FactRow name="Created">
        <Time value={job.queued_at} kind="absolute" />
      </FactRow>
      <FactRow name="Not before">
        <Time value={job.scheduled_for} kind="absolute" />
      </FactRow>
      <FactRow name="Started">
        <Instant value={job.started_at} />
      </FactRow>
      <FactRow name="Finished">
        <Instant value={job.finished_at} />
      </FactRow>
      <FactRow name="Expires">
        <Instant value={job.expires_at} />
      </FactRow>
      <FactRow name="Cancel asked">
        <Instant value={job.cancel_requested_at} />
      </FactRow>
      <FactRow name="Time limit">{formatDuration(job.timeout_seconds * 1000)} an attempt</FactRow>
    </>
  );
}

function WorkerRows({ job }: RowsProps) {
  return (
    <>
      <FactRow name="Worker">
        {/* In one line, because it appears while the page is open. */}
        {job.claimed_by_worker ? (
          <code className="block truncate font-mono text-xs" title={job.claimed_by_worker}>
            <Plain text={job.claimed_by_worker} />
          </code>
        ) : (
          <None />
        )}
      </FactRow>
      <FactRow name="Lease until">
        <Instant value={job.lease_expires_at} />
      </FactRow>
    </>
  );
}

function LinkRows({ job }: RowsProps) {
  return (
    <>
      <FactRow name="Dedupe key">{job.dedupe_key ? <CopiedCode text={job.dedupe_key} /> : <None />}</FactRow>
      <FactRow name="Correlation id">
        {job.correlation_id ? <CopiedCode text={job.correlation_id} /> : <None />}
      </FactRow>
      <FactRow name="Parent job">
        <JobLink id={job.parent_job_id} />
      </FactRow>
      <FactRow name="Retry of">
        <JobLink id={job.retried_from_id} />
      </FactRow>
      <FactRow name="Retried as">{job.retried_by_id ? <RetryLink id={job.retried_by_id} /> : <None />}</FactRow>
    </>
  );
}

function None() {
  return <span className="text-muted">–</span>;
}

function Instant({ value }: { readonly value: string | null }) {
  return value === null ? <None /> : <Time value={value} kind="absolute" />;
}

function Tags({ tags }: { readonly tags: readonly string[] }) {
  return (
    <ul className="flex flex-wrap gap-1">
      {tags.map((tag) => (
        <li key={tag} className="max-w-full truncate rounded-sm border border-line bg-sunken px-1.5 text-xs">
          <Plain text={tag} />
        </li>
      ))}
    </ul>
  );
}

function JobLink({ id }: { readonly id: string | null }) {
  const { slug } = useTenant();
  if (id === null) return <None />;
  return (
    <Link href={`/t/${slug}/jobs/${id}`} className="break-all font-mono text-accent text-xs underline">
      {id}
    </Link>
  );
}
