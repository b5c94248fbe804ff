"use client";

import { useRouter } from "next/navigation";
import { Button } from "@/components/ui/button";
import { useToast } from "@/components/ui/toast";
import { plural } from "@/lib/client/format";
import { useIntentKey } from "@/lib/client/forms/use-intent-key";
import { usePublishEvent } from "@/lib/client/triggers/events";
import { useReason, useTenant } from "../../shell/viewer";
import { refusal } from "../refusal";

/** Publishes the tested event to all triggers that listen to its name. */
export function SendForReal({ name, data }: { readonly name: string; readonly data: Record<string, unknown> }) {
  const { slug } = useTenant();
  const router = useRouter();
  const toast = useToast();
  const noSend = useReason("events:publish");
  const publish = usePublishEvent(slug);
  const { keyFor, forget, forgetRefused } = useIntentKey();
  const send = () => {
    const body = { name, data };
    publish.mutate(
      { body, key: keyFor(body) },
      {
        onSuccess: (event) => {
          forget();
          toast({ title: "Sent", detail: `${plural(event.started_count, "job")} started` });
          router.push(`/t/${slug}/jobs/events?event=${event.id}`);
        },
        onError: (error) => {
          forgetRefused(error);
          toast({ title: "Not sent", detail: refusal(error), tone: "bad" });
        },
      },
    );
  };
  return (
    <Button size="sm" variant="primary" reason={noSend} busy={publish.isPending} onClick={send}>
      Send for real
    </Button>
  );
}
