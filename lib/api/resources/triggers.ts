import type * as z from "zod";
import type { createTriggerBody, previewTriggerBody, updateTrigger } from "@/lib/contract";
import type { PreviewInput, TriggerInput, TriggerPatch } from "@/lib/queue";
import { defined } from "./filters";

/** Converts the body of a request for a new trigger to the queue's terms. */
export const triggerInput = (body: z.output<typeof createTriggerBody>): TriggerInput => ({
  ...triggerPatch(body),
  label: body.label,
  trigger_type: body.trigger_type,
  definition_key: body.definition_key,
});

const NO_POLICY = { gap: null, overlap: null };

/** Converts the body of a change to the queue's terms: fields not sent are absent, and a null dst_policy is its default. */
export const triggerPatch = ({ dst_policy, ...body }: z.output<typeof updateTrigger>): TriggerPatch =>
  defined({ ...body, dst_policy: dst_policy === null ? NO_POLICY : dst_policy });

/** Converts the body of a preview to the queue's terms. */
export function previewInput(body: z.output<typeof previewTriggerBody>): PreviewInput {
  const { payload_template: source, definition_key, label, count, after, ...schedule } = body;
  const template = source === undefined ? undefined : { source, ...defined({ definitionKey: definition_key, label }) };
  return { schedule: triggerPatch(schedule), count, ...defined({ after: after ?? undefined, template }) };
}
