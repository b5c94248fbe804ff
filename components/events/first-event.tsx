"use client";

import { Radio } from "lucide-react";
import { Button } from "@/components/ui/button";
import { Empty } from "@/components/ui/states";
import { EventCurl } from "./event-curl";

/** For a tenant without events: what an event is, and how to send the first one. */
export function FirstEvent({ noSend, onSend }: { readonly noSend: string | null; readonly onSend: () => void }) {
  return (
    <Empty icon={Radio} title="No events yet">
      <p>
        An event says that something has happened: a name and some data. Triggers that listen to the name start their
        jobs; an event that meets none is kept here all the same.
      </p>
      <Button variant="primary" reason={noSend} onClick={onSend}>
        Send a test event
      </Button>
      <EventCurl name="provider.folder.updated" data={{ provider_id: "…" }} />
    </Empty>
  );
}
