"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { type TestTarget, testOptions } from "@/lib/client/triggers/triggers";
import { LIMITS } from "@/lib/contract/limits";
import { useTenant } from "../../shell/viewer";

/** How many of the newest stored events would match. */
export function EventReplayPanel({ target }: { readonly target: TestTarget }) {
  const { slug } = useTenant();
  const [asked, setAsked] = useState<TestTarget | null>(null);
  const replay = useQuery({
    ...testOptions(slug, { replay: LIMITS.replayMax, ...asked }),
    enabled: asked !== null,
    placeholderData: undefined,
  });
  const ask = () => {
    if (JSON.stringify(asked) === JSON.stringify(target)) void replay.refetch();
    else setAsked(target);
  };
  const { data } = replay;
  return (
    <>
      <Button size="sm" busy={replay.isFetching} onClick={ask}>
        Replay the last {LIMITS.replayMax} events
      </Button>
      <p role="status" className="text-sm empty:hidden">
        {data
          ? `Of ${data.events} stored events ${data.matched} would match, ${data.would_start} would start a job.`
          : null}
        {replay.error ? replay.error.message : null}
      </p>
    </>
  );
}
