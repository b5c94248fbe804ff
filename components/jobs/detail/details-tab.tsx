"use client";

import type { ReactNode } from "react";
import { CopyButton } from "@/components/ui/copy-button";
import { JsonView } from "@/components/ui/json-view";
import { Link } from "@/components/ui/link";
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
      <Row name="Job id">
        <Code text={job.id} copy />
      </Row>
      <Row name="Definition">
        {job.definition_key} <span className="text-muted">version {job.definition_version}</span>
      </Row>
      <Row name="Queue">{job.queue}</Row>
      <Row name="Priority">{job.priority}</Row>
      <Row name="Source">
        <JobSourceLine job={job} />
      </Row>
      <Row name="Tags">{job.tags.length > 0 ? <Tags tags={job.tags} /> : <None />}</Row>
    </>
  );
}

function TimeRows({ job }: RowsProps) {
  return (
    <>
      <Row name="Created">
        <Time value={job.queued_at} kind="absolute" />
      </Row>
      <Row name="Not before">
        <Time value={job.scheduled_for} kind="absolute" />
      </Row>
      <Row name="Started">
        <Instant value={job.started_at} />
      </Row>
      <Row name="Finished">
        <Instant value={job.finished_at} />
      </Row>
      <Row name="Expires">
        <Instant value={job.expires_at} />
      </Row>
      <Row name="Cancel asked">
        <Instant value={job.cancel_requested_at} />
      </Row>
      <Row name="Time limit">{formatDuration(job.timeout_seconds * 1000)} an attempt</Row>
    </>
  );
}

function WorkerRows({ job }: RowsProps) {
  return (
    <>
      <Row name="Worker">
        {/* In one line, because it appears while the page is open. */}
        {job.claimed_by_worker ? (
          <code className="block truncate font-mono text-xs" title={job.claimed_by_worker}>
            <Plain text={job.claimed_by_worker} />
          </code>
        ) : (
          <None />
        )}
      </Row>
      <Row name="Lease until">
        <Instant value={job.lease_expires_at} />
      </Row>
    </>
  );
}

function LinkRows({ job }: RowsProps) {
  return (
    <>
      <Row name="Dedupe key">{job.dedupe_key ? <Code text={job.dedupe_key} copy /> : <None />}</Row>
      <Row name="Correlation id">{job.correlation_id ? <Code text={job.correlation_id} copy /> : <None />}</Row>
      <Row name="Parent job">
        <JobLink id={job.parent_job_id} />
      </Row>
      <Row name="Retry of">
        <JobLink id={job.retried_from_id} />
      </Row>
      <Row name="Retried as">{job.retried_by_id ? <RetryLink id={job.retried_by_id} /> : <None />}</Row>
    </>
  );
}

function Row({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="col-span-2 grid min-h-9 grid-cols-subgrid items-center px-4 py-1.5">
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
}

function None() {
  return <span className="text-muted">–</span>;
}

function Instant({ value }: { readonly value: string | null }) {
  return value === null ? <None /> : <Time value={value} kind="absolute" />;
}

function Code({ text, copy }: { readonly text: string; readonly copy?: boolean }) {
  return (
    <span className="flex items-center">
      <code className="min-w-0 break-all font-mono text-xs">
        <Plain text={text} />
      </code>
      {copy ? <CopyButton text={text} label="Copy" /> : null}
    </span>
  );
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
