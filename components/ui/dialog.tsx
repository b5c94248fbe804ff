"use client";

import { X } from "lucide-react";
import { createContext, type ReactNode, useContext, useEffect, useId, useState } from "react";
import { mayDiscard, useUnsavedWarning } from "@/lib/client/forms/use-unsaved";
import { Button } from "./button";
import { cn } from "./cn";

export interface DialogProps {
  readonly title: string;
  readonly description?: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** Slides in from the left edge instead of appearing in the middle. */
  readonly drawer?: boolean;
}

const LAYOUTS = {
  middle: "m-auto w-[min(28rem,calc(100vw-2rem))] max-h-[calc(100dvh-2rem)] rounded-lg border border-line",
  wide: "m-auto w-[min(42rem,calc(100vw-2rem))] max-h-[calc(100dvh-2rem)] rounded-lg border border-line",
  drawer: "m-0 h-dvh max-h-dvh w-[min(18rem,85vw)] border-r border-line",
} as const;

const DialogElement = createContext<HTMLDialogElement | null>(null);

/** Returns the modal dialog around this component. Overlays must open inside it; otherwise they lie beneath it. */
export function useDialogElement(): HTMLDialogElement | null {
  return useContext(DialogElement);
}

/**
 * A modal dialog based on the browser's own: focus stays inside, Escape closes it, and focus returns to its previous
 * element.
 */
export function Dialog({ title, description, open, onClose, children, wide, drawer }: DialogProps) {
  const { dialog, setDialog, onTyped, leave } = useModal(open, onClose);
  const titleId = useId();
  const descriptionId = useId();
  if (!open) return null;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the keyboard's way to close a dialog
    <dialog
      ref={setDialog}
      aria-labelledby={titleId}
      aria-describedby={description ? descriptionId : undefined}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onInput={onTyped}
      onClick={(event) => event.target === event.currentTarget && leave()}
      className={cn("overflow-hidden bg-panel p-0 shadow-pop", LAYOUTS[drawer ? "drawer" : wide ? "wide" : "middle"])}
    >
      <div className="flex max-h-[inherit] flex-col">
        <header className="flex items-start gap-3 px-5 pt-4 pb-3">
          <div className="min-w-0 flex-1">
            <h2 id={titleId} className="font-semibold text-lg">
              {title}
            </h2>
            {description ? (
              <p id={descriptionId} className="mt-0.5 text-muted text-sm">
                {description}
              </p>
            ) : null}
          </div>
          <Button variant="ghost" size="icon" aria-label="Close" onClick={leave}>
            <X aria-hidden className="size-4" />
          </Button>
        </header>
        <DialogElement value={dialog}>{children}</DialogElement>
      </div>
    </dialog>
  );
}

/** Opens the element as a modal dialog, moves the focus into it and back, and asks before typed input is lost. */
function useModal(open: boolean, onClose: () => void) {
  const [dialog, setDialog] = useState<HTMLDialogElement | null>(null);
  const [typed, setTyped] = useState(false);
  useUnsavedWarning(open && typed);
  // The cross, Escape and a click beside the dialog are easy to hit by mistake, so they ask. A Cancel button inside
  // does not.
  const leave = () => {
    if (!typed || mayDiscard()) onClose();
  };
  useEffect(() => {
    if (!open || !dialog || dialog.open) return;
    const before = document.activeElement;
    setTyped(false);
    dialog.showModal();
    firstControl(dialog)?.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [open, dialog]);
  return { dialog, setDialog, onTyped: () => setTyped(true), leave };
}

// The first control to fill in or to answer, rather than the cross that closes.
function firstControl(dialog: HTMLDialogElement): HTMLElement | null {
  return (
    dialog.querySelector<HTMLElement>("input:not([type=checkbox]), select, textarea") ??
    dialog.querySelector<HTMLElement>("footer button")
  );
}

/** The scrolling middle of a dialog. */
export function DialogBody({ children, className }: { readonly children: ReactNode; readonly className?: string }) {
  return <div className={cn("min-h-0 flex-1 overflow-y-auto px-5 pb-4", className)}>{children}</div>;
}

/** The row of buttons at the end of a dialog. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return (
    <footer className="flex flex-wrap justify-end gap-2 border-line border-t bg-sunken px-5 py-3">{children}</footer>
  );
}
