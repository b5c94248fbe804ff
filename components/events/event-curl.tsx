"use client";

import { PostSample } from "@/components/ui/post-sample";
import type { EventDraft } from "@/lib/client/triggers/events";

/** The curl command that publishes the same event with an API key. */
export function EventCurl({ name, data }: EventDraft) {
  return <PostSample caption="The same with an API key:" path="/api/v1/events" body={JSON.stringify({ name, data })} />;
}
