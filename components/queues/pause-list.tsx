"use client";

import { CirclePause } from "lucide-react";
import { Button } from "@/components/ui/button";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { endPause } from "@/lib/client/queues";
import type { Pause } from "@/lib/contract";
import { targetName } from "./names";
import { useChange } from "./use-change";

export function PauseList({ pauses }: { readonly pauses: readonly Pause[] }) {
  if (pauses.length === 0) return <p className="px-4 py-3 text-muted text-sm">Nothing is paused.</p>;
  return (
    <ul>
      {pauses.map((pause) => (
        <PauseRow key={pause.id} pause={pause} />
      ))}
    </ul>
  );
}

function PauseRow({ pause }: { readonly pause: Pause }) {
  const end = useChange({ send: () => endPause(pause.id), done: "Goes on again" });
  const name = targetName(pause);
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 border-line px-4 py-3 not-first:border-t">
      <CirclePause aria-hidden className="size-4 shrink-0 text-hold" />
      <div className="min-w-0 flex-1 basis-56">
        <p className="break-words font-medium text-sm">
          <Plain text={name} />
        </p>
        <p className="break-words text-muted text-sm">
          <Plain text={pause.reason} />
        </p>
      </div>
      <p className="text-muted text-xs">
        since <Time value={pause.since} />
        {pause.until ? (
          <>
            {" · until "}
            <Time value={pause.until} />
          </>
        ) : (
          " · until it is ended"
        )}
      </p>
      <Button size="sm" busy={end.isPending} aria-label={`Resume ${name}`} onClick={() => end.mutate(undefined)}>
        Resume
      </Button>
    </li>
  );
}
