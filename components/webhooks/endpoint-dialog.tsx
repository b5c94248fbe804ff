"use client";

import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { faultsOf } from "@/lib/client/forms/faults";
import { useWebhookAct } from "@/lib/client/webhooks";
import type { UpdateWebhook, WebhookEndpoint } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { endpointBodyOf, endpointFieldsOf, type Fields, headerLinesFault } from "./endpoint-fields";
import { MadeSecret } from "./made-secret";

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  /** The endpoint to change; omitted to add one. */
  readonly endpoint?: WebhookEndpoint;
}

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
        <MadeSecret secret={secret} onClose={close} />
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
  const { slug } = useTenant();
  const act = useWebhookAct(slug);
  const [fields, setFields] = useState<Fields>(() => endpointFieldsOf(endpoint));
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const set = (name: keyof Fields) => (event: { target: { value: string } }) =>
    setFields((now) => ({ ...now, [name]: event.target.value }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const fault = headerLinesFault(fields.headers);
    if (fault) return setFaults(new Map([["headers", fault]]));
    if (act.isPending) return;
    const body = endpointBodyOf(fields, endpoint);
    act.mutate(endpoint ? { act: "change", endpoint, body: body as UpdateWebhook } : { act: "create", body }, {
      onSuccess: ({ secret }) => (endpoint ? onClose() : onMade(secret ?? "")),
      onError: (error) => setFaults(faultsOf(error)),
    });
  };
  const known = endpoint?.header_names.join(", ");
  return (
    <form onSubmit={submit} noValidate className="contents">
      <DialogBody className="flex flex-col gap-4">
        <Field
          label="URL"
          hint="https, port 443 or 8443, reachable from the internet."
          error={faults.get("url")}
          required
        >
          {(control) => (
            <input
              {...control}
              className="field font-mono"
              autoComplete="off"
              inputMode="url"
              value={fields.url}
              onChange={set("url")}
            />
          )}
        </Field>
        <Field label="Description" error={faults.get("description")}>
          {(control) => (
            <input {...control} className="field" value={fields.description} onChange={set("description")} />
          )}
        </Field>
        <Field
          label="Types"
          hint="Comma-separated names, such as order.paid, invoice.*. Empty: all."
          error={faults.get("event_types")}
        >
          {(control) => <input {...control} className="field font-mono" value={fields.types} onChange={set("types")} />}
        </Field>
        <Field
          label="Custom headers"
          hint={
            known
              ? `It sends ${known}. Lines here replace all of them. Empty: no change.`
              : "One per line, such as X-Env: prod. Values are never shown again."
          }
          error={faults.get("headers")}
        >
          {(control) => (
            <textarea
              {...control}
              rows={2}
              className="field font-mono"
              autoComplete="off"
              value={fields.headers}
              onChange={set("headers")}
            />
          )}
        </Field>
        {faults.get("") ? (
          <p role="alert" className="text-bad text-sm">
            {faults.get("")}
          </p>
        ) : null}
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" variant="primary" busy={act.isPending}>
          {endpoint ? "Save" : "Add endpoint"}
        </Button>
      </DialogActions>
    </form>
  );
}
