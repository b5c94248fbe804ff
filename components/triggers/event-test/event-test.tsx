/*
 * Tests an event with a trigger that is stored or still in the form: does it match, which job would start, and what is
 * wrong. Testing writes nothing and starts no job, with one event or with the newest stored ones. Only the button in
 * `send-for-real.tsx` publishes the event; the form does not offer it.
 *
 * Start with `EventTest` below, then `test-result.tsx` and `event-replay.tsx`.
 */

"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Field } from "@/components/ui/forms/field";
import { TextAreaField } from "@/components/ui/forms/input-field";
import { Select } from "@/components/ui/forms/select";
import { formatUtc } from "@/lib/client/format";
import { isRecord } from "@/lib/client/is-record";
import { eventOptions, eventsOptions } from "@/lib/client/triggers/events";
import { parseJsonText } from "@/lib/client/triggers/schema-form";
import { type TestTarget, testOptions } from "@/lib/client/triggers/triggers";
import { useDebounced } from "@/lib/client/use-debounced";
import { useTenant } from "../../shell/viewer";
import { EventReplayPanel } from "./event-replay";
import { SendForReal } from "./send-for-real";
import { TestResult } from "./test-result";

interface EventTestProps {
  readonly eventName: string;
  /** Null while there is nothing to test. */
  readonly target: TestTarget | null;
  /** The definition that would run. */
  readonly definitionKey: string;
  /** Offers to publish the event, which starts every listening trigger. */
  readonly sendable?: boolean;
}

/** Tests an event with a trigger: does it match, what would start, and what is wrong. Nothing is written. */
export function EventTest({ eventName, target, definitionKey, sendable }: EventTestProps) {
  const { slug } = useTenant();
  const client = useQueryClient();
  const [text, setText] = useState("{}");
  const { value, fault } = parseJsonText(text);
  const data = isRecord(value) ? value : null;
  const body = target && data ? { event: { name: eventName, data }, ...target } : null;
  const asked = useDebounced(body);
  const test = useQuery({ ...testOptions(slug, asked ?? {}), enabled: asked !== null && eventName !== "" });
  const choose = async (id: string) => {
    if (id === "") return;
    const event = await client.fetchQuery(eventOptions(slug, id));
    setText(JSON.stringify(event.data, null, 2));
  };
  return (
    <section aria-label="Try an event" className="panel min-w-0 overflow-hidden">
      <header className="px-4 pt-3">
        <h2 className="font-semibold text-base">Try an event</h2>
        <p className="text-muted text-sm">Shows which triggers would start a job. No job is started.</p>
      </header>
      <div className="flex flex-col gap-3 p-4">
        <RecentEvents name={eventName} onChoose={(id) => void choose(id)} />
        <TextAreaField
          label="Event data"
          hint="A JSON object"
          error={fault ?? (data ? null : "This must be an object in braces.")}
          rows={6}
          spellCheck={false}
          value={text}
          onText={setText}
          className="font-mono"
        />
        {asked && eventName !== "" ? (
          <TestResult result={test.data?.data[0]} error={test.error} definitionKey={definitionKey} />
        ) : (
          <p className="text-muted text-sm">Enter an event name and its data to test the trigger.</p>
        )}
        <div className="flex flex-wrap items-center gap-2 empty:hidden">
          {target ? <EventReplayPanel target={target} /> : null}
          {sendable && data ? <SendForReal name={eventName} data={data} /> : null}
        </div>
      </div>
    </section>
  );
}

function RecentEvents({ name, onChoose }: { readonly name: string; readonly onChoose: (id: string) => void }) {
  const { slug } = useTenant();
  const asked = useDebounced(name);
  const recent = useQuery({
    ...eventsOptions(slug, { name: asked, limit: 20 }),
    enabled: /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,198}$/.test(asked),
    placeholderData: undefined,
  });
  const events = recent.data?.data ?? [];
  return (
    <Field label="Take a recent one">
      {(control) => (
        <Select
          {...control}
          defaultValue=""
          options={[
            ["", events.length === 0 ? "None of this name is stored" : "Write the data below"],
            ...events.map(({ id, received_at: at }): [string, string] => [id, formatUtc(at)]),
          ]}
          onChoose={onChoose}
        />
      )}
    </Field>
  );
}
