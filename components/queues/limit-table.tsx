"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { ConfirmDialog } from "@/components/ui/forms/confirm-dialog";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { removeLimit } from "@/lib/client/queues";
import type { Limit } from "@/lib/contract";
import { targetName } from "./names";
import { useChange } from "./use-change";

interface LimitTableProps {
  readonly limits: readonly Limit[];
  readonly gone: ReadonlySet<number>;
}

export function LimitTable({ limits, gone }: LimitTableProps) {
  if (limits.length === 0) {
    return <p className="px-4 py-3 text-muted text-sm">No limits: jobs start as soon as a worker has a free slot.</p>;
  }
  return (
    <ul>
      {limits.map((limit) => (
        <LimitRow key={limit.id} limit={limit} gone={gone.has(limit.id)} />
      ))}
    </ul>
  );
}

function LimitRow({ limit, gone }: { readonly limit: Limit; readonly gone: boolean }) {
  const [asking, setAsking] = useState(false);
  const name = targetName(limit);
  return (
    <li
      className={cn(
        "flex flex-wrap items-center gap-x-3 gap-y-2 border-line px-4 py-3 not-first:border-t",
        gone && "text-muted",
      )}
    >
      <div className="min-w-0 flex-1 basis-56">
        <p className="break-words font-medium text-sm">
          <Plain text={name} />
        </p>
        <p className="tabular text-muted text-sm">{numbers(limit)}</p>
      </div>
      <p className="text-muted text-xs max-sm:flex-1 max-sm:basis-40">
        {limit.limited_at ? (
          <>
            limited jobs <Time value={limit.limited_at} />
          </>
        ) : (
          "not reached yet"
        )}
      </p>
      <Button size="sm" variant="danger" aria-label={`Remove the limit of ${name}`} onClick={() => setAsking(true)}>
        Remove
      </Button>
      {asking ? <RemoveLimit limit={limit} onClose={() => setAsking(false)} /> : null}
    </li>
  );
}

function RemoveLimit({ limit, onClose }: { readonly limit: Limit; readonly onClose: () => void }) {
  const remove = useChange({ send: () => removeLimit(limit.id), done: "Limit removed", onDone: onClose });
  return (
    <ConfirmDialog
      title="Remove this limit?"
      keep="Cancel"
      action="Remove limit"
      busy={remove.isPending}
      onConfirm={() => remove.mutate(undefined)}
      onClose={onClose}
    >
      <p className="break-words font-medium">
        <Plain text={targetName(limit)} />: {numbers(limit)}
      </p>
      <p className="text-muted">Limited jobs start as soon as workers are free. This cannot be undone.</p>
    </ConfirmDialog>
  );
}

function numbers({ max_running, starts_per_second, burst }: Limit): string {
  const parts = [
    max_running === null ? [] : [`${max_running} at once`],
    starts_per_second === null ? [] : [`${starts_per_second} starts a second, ${burst} in a burst`],
  ];
  return parts.flat().join(" · ");
}
