"use client";

import type { ReactNode } from "react";
import { Button } from "../button";
import { Dialog, DialogActions, DialogBody } from "../dialog";

interface ConfirmDialogProps {
  readonly title: string;
  /** Omitted: open while it is rendered. */
  readonly open?: boolean;
  /** The label of the button that leaves everything as it is. */
  readonly keep: string;
  /** The label of the button that confirms. */
  readonly action: string;
  /** False for an action that destroys nothing. */
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What the action does. */
  readonly children: ReactNode;
}

/** Asks before an action that cannot be undone, or that has consequences elsewhere. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, open = true, keep, action, danger = true, busy, onConfirm, onClose, children } = props;
  return (
    <Dialog title={title} open={open} onClose={onClose}>
      <DialogBody className="flex flex-col gap-2 text-sm">{children}</DialogBody>
      <DialogActions>
        <Button onClick={onClose}>{keep}</Button>
        <Button variant={danger ? "danger" : "primary"} busy={busy} onClick={onConfirm}>
          {action}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
