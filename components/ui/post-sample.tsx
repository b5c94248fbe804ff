"use client";

import { useHydrated } from "@/lib/client/clock";
import { CopyButton } from "./copy-button";
import { ScrollPre } from "./scroll-pre";

interface PostSampleProps {
  readonly caption: string;
  /** The path of the API, without the origin. */
  readonly path: string;
  /** The JSON to send. */
  readonly body: string;
}

/** The curl command that sends a request with an API key, and a button to copy it. */
export function PostSample({ caption, path, body }: PostSampleProps) {
  const origin = useHydrated() ? window.location.origin : "";
  const curl = `curl -X POST ${origin}${path} \\
  -H "Authorization: Bearer $LEASEHOLD_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body.replaceAll("'", "'\\''")}'`;
  return (
    <div className="w-full min-w-0 text-left">
      <div className="flex items-center justify-between">
        <p className="text-muted text-xs">{caption}</p>
        <CopyButton text={curl} label="Copy the command" caption="Copy" />
      </div>
      <ScrollPre className="overflow-x-auto rounded-md border border-line bg-sunken p-3 font-mono text-ink text-xs">
        {curl}
      </ScrollPre>
    </div>
  );
}
