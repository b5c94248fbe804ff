"use client";

import { ShownOnce } from "@/components/ui/shown-once";

/** A new signing secret, shown only once. */
export function NewSecret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <ShownOnce
      secret={secret}
      note="Copy the secret now and give it to the receiver, which checks signatures with it. It is shown only once."
      copyLabel="Copy the secret"
      testId="webhook-secret"
      onClose={onClose}
    />
  );
}
