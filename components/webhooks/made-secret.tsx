"use client";

import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { DialogActions, DialogBody } from "@/components/ui/dialog";

/** A secret that is shown only once. */
export function MadeSecret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <>
      <DialogBody className="flex flex-col gap-3">
        <p role="status" className="text-sm">
          Copy the secret now and give it to the receiver, which checks signatures with it. It is shown only once.
        </p>
        <p className="flex items-center gap-1 rounded-md border border-line bg-sunken py-1 pr-1 pl-3 font-mono text-xs">
          <span className="min-w-0 flex-1 break-all" data-testid="webhook-secret">
            {secret}
          </span>
          <CopyButton text={secret} label="Copy the secret" />
        </p>
      </DialogBody>
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </>
  );
}
