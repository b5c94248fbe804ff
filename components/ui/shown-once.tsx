"use client";

import { Button } from "./button";
import { CopyButton } from "./copy-button";
import { DialogActions, DialogBody } from "./dialog";

interface ShownOnceProps {
  readonly secret: string;
  /** What to do with the secret now. */
  readonly note: string;
  readonly copyLabel: string;
  readonly testId: string;
  readonly onClose: () => void;
}

/** The content of a dialog that shows a new secret. The secret cannot be shown again. */
export function ShownOnce({ secret, note, copyLabel, testId, onClose }: ShownOnceProps) {
  return (
    <>
      <DialogBody className="flex flex-col gap-3">
        <p role="status" className="text-sm">
          {note}
        </p>
        <p className="flex items-center gap-1 rounded-md border border-line bg-sunken py-1 pr-1 pl-3 font-mono text-xs">
          <span className="min-w-0 flex-1 break-all" data-testid={testId}>
            {secret}
          </span>
          <CopyButton text={secret} label={copyLabel} />
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
