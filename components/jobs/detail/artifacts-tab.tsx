"use client";

import { useQuery } from "@tanstack/react-query";
import { Download, FileArchive, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, buttonClass } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { CopyButton } from "@/components/ui/copy-button";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { Plain } from "@/components/ui/plain";
import { Empty, QueryProblem, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { formatBytes } from "@/lib/client/format";
import { artifactsOptions, artifactUrl } from "@/lib/client/jobs/jobs";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import type { Artifact, Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { useReason, useTenant } from "../../shell/viewer";
import { DeleteArtifact } from "./delete-artifact";

/** The files created by the job's attempts. */
export function ArtifactsTab({ job }: { readonly job: Job }) {
  const { slug } = useTenant();
  const poll = usePollInterval();
  const [deleting, setDeleting] = useState<Artifact | null>(null);
  const query = useQuery({ ...artifactsOptions(slug, job.id), refetchInterval: isTerminal(job.status) ? false : poll });
  const { rows, shown, showWaiting } = usePinnedRows(query.data?.data, job.id, {
    whole: true,
    followsOwnChanges: true,
  });
  if (query.isPending) return <Skeleton className="h-24 w-full" />;
  if (!query.data) {
    return (
      <div className="panel">
        <QueryProblem query={query} />
      </div>
    );
  }
  const { tenant_usage: usage } = query.data;
  const artifacts = rows ?? [];
  return (
    <section aria-label="Artifacts" className="panel min-w-0 overflow-hidden">
      {artifacts.length === 0 ? (
        <Empty icon={FileArchive} title={isTerminal(job.status) ? "The job has no artifacts" : "No artifacts yet"}>
          <p>Files that a handler or a command stores are listed here for download.</p>
        </Empty>
      ) : (
        <ul className="divide-y divide-line text-sm">
          {artifacts.map((artifact) => (
            <ArtifactRow
              key={artifact.id}
              artifact={artifact}
              runs={job.run_no}
              tenant={slug}
              gone={shown.gone.has(artifact.id)}
              onDelete={() => setDeleting(artifact)}
            />
          ))}
        </ul>
      )}
      <div className="flex h-11 items-center gap-3 border-line border-t px-4 text-muted text-xs">
        <p className="min-w-0 flex-1 truncate">
          All artifacts of this tenant: {formatBytes(usage.bytes)} of {formatBytes(usage.max_bytes)}
        </p>
        <ShowNewest noun="artifact" waiting={shown.waiting.length} onShow={() => showWaiting()} />
      </div>
      {deleting ? <DeleteArtifact artifact={deleting} onClose={() => setDeleting(null)} /> : null}
    </section>
  );
}

interface RowProps {
  readonly artifact: Artifact;
  readonly runs: number;
  readonly tenant: string;
  readonly gone: boolean;
  readonly onDelete: () => void;
}

function ArtifactRow({ artifact, runs, tenant, gone, onDelete }: RowProps) {
  const { name, size, sha256 } = artifact;
  const reason = useReason("jobs:update");
  return (
    <li className={cn("flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3", gone && "text-muted")}>
      <div className="min-w-0 flex-1 basis-56">
        <p className="break-words font-medium">
          <Plain text={name} oneLine />
        </p>
        <p className="text-muted text-xs">
          <span className="tabular-nums">{formatBytes(size)}</span>, {runs > 1 ? `run ${artifact.run_no}, ` : ""}attempt
          #{artifact.attempt_no}, <Time value={artifact.created_at} />
        </p>
        <p className="flex min-w-0 items-center text-muted text-xs">
          <span className="shrink-0">SHA-256&nbsp;</span>
          <code className="truncate font-mono" title={sha256}>
            {sha256}
          </code>
          <CopyButton text={sha256} label={`Copy the SHA-256 of ${name}`} />
        </p>
      </div>
      <div className="flex gap-2">
        <a className={buttonClass()} href={artifactUrl(tenant, artifact)} download aria-label={`Download ${name}`}>
          <Download aria-hidden className="size-3.5" />
          Download
        </a>
        <Button reason={reason} onClick={onDelete} aria-label={`Delete ${name}`}>
          <Trash2 aria-hidden className="size-3.5" />
          Delete
        </Button>
      </div>
    </li>
  );
}
