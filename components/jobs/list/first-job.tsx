"use client";

import { Sprout } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { Empty } from "@/components/ui/states";

/** For a tenant without jobs: what a job is, the first step, and the same as a curl command. */
export function FirstJob({ onCreate, noCreate }: { readonly onCreate: () => void; readonly noCreate: string | null }) {
  const [origin, setOrigin] = useState("");
  useEffect(() => setOrigin(window.location.origin), []);
  const curl = `curl -X POST ${origin}/api/v1/jobs \\
  -H "Authorization: Bearer $LEASEHOLD_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"definition_key": "sync-folder", "payload": {"provider_id": "…"}}'`;
  return (
    <Empty icon={Sprout} title="No jobs yet">
      <p>
        A job is one piece of work that a worker does for this tenant: a folder to walk, a file to import. What may run
        is given by the definitions; each run shows up here as it happens.
      </p>
      <Button variant="primary" reason={noCreate} onClick={onCreate}>
        Enqueue the first job
      </Button>
      <div className="w-full text-left">
        <div className="flex items-center justify-between">
          <p className="text-xs">Or with an API key:</p>
          <CopyButton text={curl} label="Copy the command" caption="Copy" />
        </div>
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          className="overflow-x-auto rounded-md border border-line bg-sunken p-3 font-mono text-ink text-xs"
        >
          {curl}
        </pre>
      </div>
    </Empty>
  );
}
