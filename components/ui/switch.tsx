"use client";

import { useId } from "react";
import { cn } from "./cn";

interface SwitchProps {
  readonly label: string;
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
  /** Why the switch is disabled. It stays focusable, so that the reason can be reached. */
  readonly reason?: string | null;
}

/** A switch that takes effect immediately. */
export function Switch({ label, on, onChange, reason }: SwitchProps) {
  const reasonId = useId();
  return (
    <>
      <button
        type="button"
        role="switch"
        aria-checked={on}
        aria-label={label}
        aria-disabled={reason ? true : undefined}
        aria-describedby={reason ? reasonId : undefined}
        title={reason ?? (on ? "On" : "Off")}
        onClick={() => !reason && onChange(!on)}
        className="inline-flex size-11 shrink-0 items-center justify-center sm:h-8 sm:w-9"
      >
        <span
          className={cn(
            "flex h-5 w-9 items-center rounded-full border border-transparent px-0.5 transition-colors",
            on ? "bg-ok" : "border-control bg-sunken",
            reason && "opacity-55",
          )}
        >
          <span
            className={cn(
              "size-3.5 rounded-full transition-transform",
              on ? "translate-x-4 bg-panel" : "translate-x-0 bg-control",
            )}
          />
        </span>
      </button>
      {reason ? (
        <span id={reasonId} hidden>
          {reason}
        </span>
      ) : null}
    </>
  );
}
