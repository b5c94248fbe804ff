"use client";

import { useState } from "react";
import { Dialog } from "@/components/ui/dialog";
import { DialogFormContent } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { InputField, TextAreaField } from "@/components/ui/forms/input-field";
import { faultsOf } from "@/lib/client/forms/faults";
import { useWebhookAction } from "@/lib/client/webhooks";
import type { UpdateWebhook, WebhookEndpoint } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { endpointBodyOf, endpointFieldsOf, type Fields, headerLinesFault } from "./endpoint-fields";
import { NewSecret } from "./new-secret";

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  /** The endpoint to change; omitted to add one. */
  readonly endpoint?: WebhookEndpoint;
}

const FIELDS = ["url", "description", "event_types", "headers"];

/** Adds an endpoint and shows its secret once; or changes an endpoint. */
export function EndpointDialog({ open, onClose, endpoint }: DialogProps) {
  const [secret, setSecret] = useState<string | null>(null);
  const close = () => {
    setSecret(null);
    onClose();
  };
  return (
    <Dialog
      title={endpoint ? "Change endpoint" : secret ? "Endpoint added" : "Add endpoint"}
      open={open}
      onClose={close}
    >
      {secret ? (
        <NewSecret secret={secret} onClose={close} />
      ) : (
        <EndpointForm endpoint={endpoint} onMade={setSecret} onClose={close} />
      )}
    </Dialog>
  );
}

interface FormProps {
  readonly endpoint: WebhookEndpoint | undefined;
  readonly onMade: (secret: string) => void;
  readonly onClose: () => void;
}

function EndpointForm({ endpoint, onMade, onClose }: FormProps) {
  const { fields, set, faults, submit, pending } = useEndpointForm({ endpoint, onMade, onClose });
  return (
    <DialogFormContent
      submit={endpoint ? "Save" : "Add endpoint"}
      faults={faults}
      fields={FIELDS}
      busy={pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <InputField
        label="URL"
        hint="https, port 443 or 8443, reachable from the internet."
        error={faults.get("url")}
        required
        autoComplete="off"
        inputMode="url"
        value={fields.url}
        onText={set("url")}
        className="font-mono"
      />
      <InputField
        label="Description"
        error={faults.get("description")}
        value={fields.description}
        onText={set("description")}
      />
      <InputField
        label="Types"
        hint="Comma-separated names, such as order.paid, invoice.*. Empty: all."
        error={faults.get("event_types")}
        value={fields.types}
        onText={set("types")}
        className="font-mono"
      />
      <TextAreaField
        label="Custom headers"
        hint={headersHint(endpoint?.header_names.join(", "))}
        error={faults.get("headers")}
        rows={2}
        autoComplete="off"
        value={fields.headers}
        onText={set("headers")}
        className="font-mono"
      />
    </DialogFormContent>
  );
}

/** The state of an endpoint that is being added or changed. */
function useEndpointForm({ endpoint, onMade, onClose }: FormProps) {
  const { slug } = useTenant();
  const mutation = useWebhookAction(slug);
  const [fields, setFields] = useState<Fields>(() => endpointFieldsOf(endpoint));
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const set = (name: keyof Fields) => (text: string) => setFields((now) => ({ ...now, [name]: text }));
  const submit = () => {
    const fault = headerLinesFault(fields.headers);
    if (fault) return setFaults(new Map([["headers", fault]]));
    if (mutation.isPending) return;
    const body = endpointBodyOf(fields, endpoint);
    mutation.mutate(
      endpoint ? { action: "change", endpoint, body: body as UpdateWebhook } : { action: "create", body },
      {
        onSuccess: ({ secret }) => (endpoint ? onClose() : onMade(secret ?? "")),
        onError: (error) => setFaults(faultsOf(error)),
      },
    );
  };
  return { fields, set, faults, submit, pending: mutation.isPending };
}

function headersHint(known: string | undefined): string {
  return known
    ? `It sends ${known}. Lines here replace all of them. Empty: no change.`
    : "One per line, such as X-Env: prod. Values are never shown again.";
}
