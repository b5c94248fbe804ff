"use client";

import { JsonView } from "@/components/ui/json-view";
import { Link } from "@/components/ui/link";
import { FactRow } from "@/components/ui/lists/fact-row";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { plural } from "@/lib/client/format";
import type { Trigger } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { NextFiring, runsWords } from "./trigger-state";
import { CATCH_UP_WORDS, GAP_WORDS, OVERLAP_WORDS, REPEAT_WORDS, whenWords } from "./words";

/** The settings of a trigger, in words. */
export function TriggerSettingsPanel({ trigger }: { readonly trigger: Trigger }) {
  const { slug } = useTenant();
  return (
    <>
      <section aria-label="Settings" className="panel overflow-hidden">
        <h2 className="px-4 py-3 font-semibold text-base">Settings</h2>
        <dl className="grid grid-cols-[6rem_minmax(0,1fr)] sm:grid-cols-[9rem_minmax(0,1fr)] divide-y divide-line border-line border-t text-sm">
          <FactRow name="Starts">
            <Link
              href={`/t/${slug}/jobs?definition=${encodeURIComponent(trigger.definition_key)}`}
              className="text-accent underline"
            >
              {trigger.definition_key}
            </Link>
          </FactRow>
          <FactRow name="Next">
            <NextFiring trigger={trigger} />
          </FactRow>
          <FactRow name="So far">{runsWords(trigger)}</FactRow>
          {trigger.trigger_type === "event" ? <EventRows trigger={trigger} /> : <ScheduleRows trigger={trigger} />}
          <FactRow name="A job of it is there">{OVERLAP_WORDS[trigger.overlap_policy]}</FactRow>
          <FactRow name="Not after">
            {trigger.expires_at ? <Time value={trigger.expires_at} kind="absolute" /> : "without end"}
          </FactRow>
          <FactRow name="Queue, priority">
            {trigger.queue ?? "the definition's"}, {trigger.priority ?? "100"}
          </FactRow>
          <FactRow name="Changed">
            <Time value={trigger.updated_at} /> <span className="text-muted">(version {trigger.version})</span>
          </FactRow>
        </dl>
      </section>
      <JsonView title="Payload template" value={trigger.payload_template} empty="The payload is empty." />
    </>
  );
}

function EventRows({ trigger }: { readonly trigger: Trigger }) {
  return (
    <>
      <FactRow name="Event">
        <Code text={trigger.event_name ?? ""} />
      </FactRow>
      <FactRow name="Only if">{trigger.condition === null ? "always" : <Code text={trigger.condition} />}</FactRow>
      <FactRow name="Deduplication">
        {trigger.dedupe_key_template === null ? "the same payload" : <Code text={trigger.dedupe_key_template} />}{" "}
        {trigger.dedupe_window_seconds === 0
          ? "is never skipped"
          : `is skipped within ${plural(trigger.dedupe_window_seconds, "second")}`}
      </FactRow>
    </>
  );
}

function ScheduleRows({ trigger }: { readonly trigger: Trigger }) {
  const { gap, overlap } = trigger.dst_policy;
  const missed = CATCH_UP_WORDS[trigger.catch_up];
  return (
    <>
      <FactRow name="When">
        <Plain text={whenWords(trigger)} />
        {trigger.cron_expr === null ? null : (
          <>
            {" "}
            <Code text={trigger.cron_expr} />
          </>
        )}
      </FactRow>
      <FactRow name="Missed instants">
        {missed}
        {trigger.catch_up === "all" ? ` (${trigger.catch_up_limit})` : ""}
        {trigger.missed_count > 0 ? (
          <span className="text-warn"> · {trigger.missed_count} left out in the last seven days</span>
        ) : null}
      </FactRow>
      {trigger.schedule_type === "cron" ? (
        <FactRow name="Clock changes">
          Left out: {GAP_WORDS[gap ?? ""].toLowerCase()}. Twice: {REPEAT_WORDS[overlap ?? ""].toLowerCase()}.
        </FactRow>
      ) : null}
      {trigger.jitter_seconds > 0 ? (
        <FactRow name="Spread">up to {plural(trigger.jitter_seconds, "second")}</FactRow>
      ) : null}
    </>
  );
}

function Code({ text }: { readonly text: string }) {
  return (
    <code className="break-all font-mono text-xs">
      <Plain text={text} />
    </code>
  );
}
