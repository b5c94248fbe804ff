"use client";

import { useMemo } from "react";
import { Field } from "@/components/ui/forms/field";
import { Select } from "@/components/ui/forms/select";
import { useHydrated } from "@/lib/client/clock";
import { UNIT_MS } from "@/lib/client/triggers/trigger-form";
import { GAP_WORDS, REPEAT_WORDS } from "../words";
import { ChoiceField, FormSection, SelectField, TextField } from "./form-fields";
import type { TriggerForm } from "./use-trigger-form";

const TYPES = { cron: "Cron", interval: "Interval", once: "Once" };
const PRESETS = {
  "*/5 * * * *": "Every 5 minutes",
  "0 * * * *": "Every hour",
  "0 2 * * *": "Every day at 02:00",
  "0 8 * * 1-5": "On working days at 08:00",
  "0 6 * * 1": "Every Monday at 06:00",
  "0 0 1 * *": "On the first of each month",
  "0 0 L * *": "On the last day of each month",
};
const UNITS = Object.fromEntries(Object.keys(UNIT_MS).map((unit) => [unit, unit]));

interface ScheduleSectionProps {
  readonly form: TriggerForm;
  /** The zone that applies when none is given. */
  readonly tenantZone: string;
}

/** When a schedule trigger fires. */
export function ScheduleSection({ form, tenantZone }: ScheduleSectionProps) {
  const { schedule_type: type } = form.fields;
  return (
    <FormSection title="When">
      <ChoiceField form={form} name="schedule_type" label="Schedule" options={TYPES} />
      {type === "cron" ? <CronFields form={form} /> : null}
      {type === "interval" ? (
        <div className="grid gap-4 sm:grid-cols-2">
          <div className="grid grid-cols-[5rem_minmax(0,1fr)] items-start gap-2">
            <TextField form={form} name="interval_every" label="Every" numeric required />
            <SelectField form={form} name="interval_unit" label="Unit" options={UNITS} />
          </div>
          <TextField
            form={form}
            name="anchor_at"
            type="datetime-local"
            label="Counted from"
            hint="Empty: from when it is saved. In this browser's time zone"
          />
        </div>
      ) : null}
      {type === "once" ? (
        <TextField
          form={form}
          name="once_at"
          type="datetime-local"
          label="At"
          hint="In this browser's time zone"
          required
        />
      ) : null}
      <ZoneField form={form} tenantZone={tenantZone} />
      {type === "cron" ? (
        <div className="grid gap-4 sm:grid-cols-2">
          <SelectField form={form} name="dst_gap" label="If the clock skips the time" options={GAP_WORDS} />
          <SelectField form={form} name="dst_overlap" label="If the time occurs twice" options={REPEAT_WORDS} />
        </div>
      ) : null}
    </FormSection>
  );
}

function CronFields({ form }: { readonly form: TriggerForm }) {
  const { cron_expr: expr } = form.fields;
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label="Often used">
        {(control) => (
          <Select
            {...control}
            options={[["", "Something else"], ...Object.entries(PRESETS)]}
            value={Object.hasOwn(PRESETS, expr) ? expr : ""}
            onChoose={(preset) => preset && form.set("cron_expr", preset)}
          />
        )}
      </Field>
      <TextField
        form={form}
        name="cron_expr"
        label="Cron expression"
        hint="minute, hour, day of month, month, day of week"
        mono
        required
      />
    </div>
  );
}

function ZoneField({ form, tenantZone }: ScheduleSectionProps) {
  const hydrated = useHydrated();
  const zones = useMemo(() => (hydrated ? ["UTC", ...Intl.supportedValuesOf("timeZone")] : []), [hydrated]);
  const here = hydrated ? Intl.DateTimeFormat().resolvedOptions().timeZone : null;
  return (
    <TextField
      form={form}
      name="timezone"
      label="Time zone"
      hint={`An IANA name. The tenant's is ${tenantZone}${here && here !== tenantZone ? `, this browser's ${here}` : ""}`}
      placeholder={tenantZone}
      suggestions={zones}
    />
  );
}
