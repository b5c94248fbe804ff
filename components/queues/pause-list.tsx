"use client";

import { CirclePause } from "lucide-react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { removePause } from "@/lib/client/queues";
import type { Pause } from "@/lib/contract";
import { targetName } from "./names";
import { useChange } from "./use-change";

interface PauseListProps {
  readonly pauses: readonly Pause[];
  readonly gone: ReadonlySet<string>;
}

export function PauseList({ pauses, gone }: PauseListProps) {
  if (pauses.length === 0) return <p className="px-4 py-3 text-muted text-sm">Nothing is paused.</p>;
  return (
    <ul>
      {pauses.map((pause) => (
        <PauseRow key={pause.id} pause={pause} gone={gone.has(pause.id)} />
      ))}
    </ul>
  );
}

function PauseRow({ pause, gone }: { readonly pause: Pause; readonly gone: boolean }) {
  const end = useChange({ send: () => removePause(pause.id), done: "Resumed" });
  const name = targetName(pause);
  return (
    <li
      className={cn(
        "flex flex-wrap items-center gap-x-3 gap-y-2 border-line px-4 py-3 not-first:border-t",
        gone && "text-muted",
      )}
    >
      <CirclePause aria-hidden className="size-4 shrink-0 text-hold" />
      <div className="min-w-0 flex-1 basis-56">
        <p className="break-words font-medium text-sm">
          <Plain text={name} />
        </p>
        <p className="break-words text-muted text-sm">
          <Plain text={pause.reason} />
        </p>
      </div>
      <p className="text-muted text-xs max-sm:flex-1 max-sm:basis-40">
        since <Time value={pause.since} />
        {pause.until ? (
          <>
            {" · until "}
            <Time value={pause.until} />
          </>
        ) : (
          " · until resumed"
        )}
      </p>
      <Button size="sm" busy={end.isPending} aria-label={`Resume ${name}`} onClick={() => end.mutate(undefined)}>
        Resume
      </Button>
    </li>
  );
}
