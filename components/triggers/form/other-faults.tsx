import { FaultLines } from "@/components/ui/forms/form-faults";
import { BLANK_TRIGGER } from "@/lib/client/triggers/trigger-form";
import type { TriggerForm } from "./use-trigger-form";

/** Problems that no field of the form can show. */
export function OtherFaults({ form }: { readonly form: TriggerForm }) {
  const others = [...form.faults]
    .filter(([name]) => !Object.hasOwn(BLANK_TRIGGER, name))
    .flatMap(([name, faults]) => faults.map(({ at, detail }) => `${name || "request"}${at}: ${detail}`));
  return <FaultLines lines={form.general ? [form.general, ...others] : others} />;
}
