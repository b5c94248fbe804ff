"use client";

import { Sprout } from "lucide-react";
import { Button } from "@/components/ui/button";
import { PostSample } from "@/components/ui/post-sample";
import { Empty } from "@/components/ui/states";

const SAMPLE = '{"definition_key": "sync-folder", "payload": {"provider_id": "…"}}';

/** For a tenant without jobs: what a job is, the first step, and the same as a curl command. */
export function FirstJob({ onCreate, noCreate }: { readonly onCreate: () => void; readonly noCreate: string | null }) {
  return (
    <Empty icon={Sprout} title="No jobs yet">
      <p>
        A job is one piece of work that a worker does for this tenant: a folder to walk, a file to import. What may run
        is given by the definitions; each run shows up here as it happens.
      </p>
      <Button variant="primary" reason={noCreate} onClick={onCreate}>
        Enqueue the first job
      </Button>
      <PostSample caption="Or with an API key:" path="/api/v1/jobs" body={SAMPLE} />
    </Empty>
  );
}
