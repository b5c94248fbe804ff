"use client";

import { Ban, Ellipsis, RotateCcw } from "lucide-react";
import { memo } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { Menu, MenuItem } from "@/components/ui/menu";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { attemptsSoFar } from "@/lib/client/jobs/jobs";
import type { JobRow } from "@/lib/contract";
import { isCancelable } from "@/lib/queue/states";
import { messageBeforeTrace } from "../error-text";
import type { ActOnJob } from "../job-actions";
import { StatusBadge } from "../status";
import { Duration } from "../wait-line";

interface JobRowProps {
  readonly job: JobRow;
  readonly tenant: string;
  readonly dimmed: boolean;
  readonly actions: ActOnJob;
  readonly selected: boolean;
  readonly onSelect: (id: string) => void;
}

/** One job of the list. Every row has the same height, for any content. */
export const JobTableRow = memo(function JobTableRow(props: JobRowProps) {
  const { job, tenant, dimmed, actions, selected, onSelect } = props;
  const href = `/t/${tenant}/jobs/${job.id}`;
  return (
    <tr
      data-job-id={job.id}
      className={cn(
        "group relative h-14 border-line border-t hover:bg-hover has-[a:focus-visible]:bg-hover",
        dimmed && "text-muted",
        selected && "bg-accent-soft hover:bg-accent-soft",
      )}
    >
      <td className="w-9 py-0 pr-0 pl-3 sm:pl-4">
        <input
          type="checkbox"
          aria-label={`Select ${job.definition_key} ${job.id.slice(-12)}`}
          checked={selected}
          onChange={() => onSelect(job.id)}
          className="block size-4 accent-accent"
        />
      </td>
      <td className="relative w-32 px-3 max-sm:w-28 max-sm:pr-0">
        <StatusBadge status={job.status} canceling={job.cancel_requested_at !== null} />
        {job.status === "running" && job.progress ? (
          <progress
            aria-label={`Progress of ${job.definition_key}`}
            value={job.progress.percent}
            max={100}
            className="meter absolute bottom-1.5 left-3 w-24"
          />
        ) : null}
      </td>
      <td className="max-w-0 px-3">
        <Link
          href={href}
          data-job-link
          title={dimmed ? "No longer matches the filter" : undefined}
          className="block truncate rounded-sm font-medium text-sm hover:underline"
        >
          {job.definition_key}
        </Link>
        <p className="truncate text-muted text-xs">
          <SecondLine job={job} />
        </p>
      </td>
      <td className="hidden px-3 text-sm lg:table-cell">
        <span className="block">{job.source}</span>
        <span className="block truncate text-muted text-xs">{job.queue}</span>
      </td>
      <td className="tabular hidden px-3 text-right text-sm md:table-cell">
        {attemptsSoFar(job)}
        <span className="text-muted">/{job.max_attempts}</span>
      </td>
      <td className="hidden whitespace-nowrap px-3 text-right text-sm md:table-cell">
        <Duration job={job} />
      </td>
      <td className="hidden whitespace-nowrap px-3 text-right text-muted text-sm sm:table-cell">
        <Time value={job.queued_at} />
      </td>
      <td className="w-20 px-2 max-sm:w-12 sm:pr-3">
        <RowActions job={job} href={href} actions={actions} />
      </td>
    </tr>
  );
});

function SecondLine({ job }: { readonly job: JobRow }) {
  const failed = job.last_error && ["failed", "dead_letter", "queued", "expired"].includes(job.status);
  const message = job.status === "running" ? job.progress?.message : null;
  return (
    <>
      <span className="inline-block min-w-16 pr-1 sm:hidden">
        <Time value={job.queued_at} />
      </span>
      {failed ? (
        <span className="text-bad">
          <Plain oneLine text={messageBeforeTrace(job.last_error ?? "")} />
        </span>
      ) : null}
      {!failed && message ? <Plain oneLine text={message} /> : null}
      {!failed && !message ? <span className="font-mono">{job.id}</span> : null}
    </>
  );
}

function RowActions({
  job,
  href,
  actions,
}: {
  readonly job: JobRow;
  readonly href: string;
  readonly actions: ActOnJob;
}) {
  const toast = useToast();
  const action = isCancelable(job.status) ? "cancel" : "retry";
  const Icon = action === "cancel" ? Ban : RotateCcw;
  const against = actions.reasonAgainst(action, job);
  const label = `${action === "cancel" ? "Cancel" : "Retry"} ${job.definition_key}`;
  const copy = (text: string) =>
    navigator.clipboard.writeText(text).then(
      () => toast({ title: "Copied" }),
      () => toast({ title: "Could not copy", tone: "bad" }),
    );
  return (
    <div className="flex items-center justify-end gap-0.5">
      {job.status === "succeeded" ? null : (
        <Button
          variant="ghost"
          size="icon"
          aria-label={label}
          title={label}
          reason={against}
          busy={actions.busyId === job.id}
          onClick={() => actions.act(action, job)}
          className="max-sm:hidden"
        >
          <Icon aria-hidden className="size-3.5" />
        </Button>
      )}
      <Menu
        label={`More for ${job.definition_key}`}
        trigger={
          <Button variant="ghost" size="icon" aria-label={`More for ${job.definition_key}`}>
            <Ellipsis aria-hidden className="size-4" />
          </Button>
        }
      >
        {job.status === "succeeded" ? null : (
          <MenuItem
            className="sm:hidden"
            disabled={against !== null || actions.busyId === job.id}
            onSelect={() => actions.act(action, job)}
          >
            {action === "cancel" ? "Cancel" : "Retry"}
          </MenuItem>
        )}
        <MenuItem asChild>
          <Link href={href}>Attempts</Link>
        </MenuItem>
        <MenuItem asChild>
          <Link href={`${href}?tab=output`}>Output</Link>
        </MenuItem>
        <MenuItem onSelect={() => copy(job.id)}>Copy id</MenuItem>
        <MenuItem
          onSelect={() => copy(`curl -H "Authorization: Bearer $KEY" ${window.location.origin}/api/v1/jobs/${job.id}`)}
        >
          Copy as curl
        </MenuItem>
      </Menu>
    </div>
  );
}
