/*
 * The building blocks of dialogs that ask for something: fields with their labels and errors, and the form around them.
 * Labels, hints and errors are linked to their control for screen readers. A refused submit moves the focus to the
 * first invalid field, and problems that no field shows are listed below the fields.
 *
 * Start with `FormDialog` below, then `field.tsx` and `input-field.tsx`.
 */

"use client";

import type { FormEvent, ReactNode } from "react";
import { Button } from "../button";
import { cn } from "../cn";
import { Dialog, DialogActions, DialogBody } from "../dialog";
import { FaultLines, type FormFaults, NO_FAULTS_YET, useFocusOnFault } from "./form-faults";

const NO_FIELDS: readonly string[] = [];

interface DialogFormContentProps {
  /** The label of the button that submits. */
  readonly submit: ReactNode;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly faults?: FormFaults;
  /** Names of the fields that show their own fault. All other faults are listed below the fields. */
  readonly fields?: readonly string[];
  /** True while the request is under way. */
  readonly busy?: boolean;
  /** Why the form cannot be submitted. */
  readonly reason?: string | null;
  /** True for a submit that destroys something. */
  readonly danger?: boolean;
  /** Lets the browser validate the controls before a submit. */
  readonly validates?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A form that fills a dialog: its fields, the faults that no field shows, and the buttons. */
export function DialogFormContent(props: DialogFormContentProps) {
  const { submit, onSubmit, onClose, faults = NO_FAULTS_YET, fields = NO_FIELDS, children, className } = props;
  const { ref, onSubmitted } = useFocusOnFault(faults);
  const send = (event: FormEvent) => {
    event.preventDefault();
    onSubmitted();
    onSubmit();
  };
  const others = [...faults].filter(([name]) => !fields.includes(name));
  return (
    <form ref={ref} onSubmit={send} noValidate={!props.validates} className="contents">
      <DialogBody className={cn("flex flex-col gap-4", className)}>
        {children}
        <FaultLines lines={others.map(([name, fault]) => (name === "" ? fault : `${name}: ${fault}`))} />
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" variant={props.danger ? "danger" : "primary"} busy={props.busy} reason={props.reason}>
          {submit}
        </Button>
      </DialogActions>
    </form>
  );
}

interface FormDialogProps extends DialogFormContentProps {
  readonly title: string;
  readonly description?: string;
  readonly wide?: boolean;
}

/**
 * A dialog with one form. It is open while it is rendered, so that its fields start blank each time. It asks before
 * input is lost; see `Dialog`.
 */
export function FormDialog({ title, description, wide, ...form }: FormDialogProps) {
  return (
    <Dialog title={title} description={description} wide={wide} open onClose={form.onClose}>
      <DialogFormContent {...form} />
    </Dialog>
  );
}
