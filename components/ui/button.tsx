"use client";

import { type ButtonHTMLAttributes, useId } from "react";
import { cn } from "./cn";

const VARIANTS = {
  primary: "bg-solid text-solid-ink hover:bg-solid-hover border-transparent",
  secondary: "bg-panel text-ink border-line hover:bg-hover",
  ghost: "bg-transparent text-muted border-transparent hover:bg-hover hover:text-ink",
  danger: "bg-panel text-bad border-line hover:bg-bad-soft",
} as const;

const SIZES = {
  sm: "h-7 px-2.5 text-xs gap-1.5 max-sm:h-9 max-sm:px-3",
  md: "h-8 px-3 text-sm gap-2 max-sm:h-10",
  icon: "size-7 justify-center max-sm:size-9",
} as const;

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly variant?: keyof typeof VARIANTS;
  readonly size?: keyof typeof SIZES;
  /** Why the button is disabled. It stays focusable, so that the reason can be reached. */
  readonly reason?: string | null;
  readonly busy?: boolean;
}

const SHAPE =
  "inline-flex shrink-0 items-center justify-center whitespace-nowrap rounded-md border font-medium transition-colors";

/** Returns the look of a button, for a download link. */
export const buttonClass = (): string => cn(SHAPE, VARIANTS.secondary, SIZES.md);

export function Button({ variant = "secondary", size = "md", reason, busy, className, ...rest }: ButtonProps) {
  const reasonId = useId();
  const off = Boolean(reason) || busy === true;
  return (
    <>
      <button
        type="button"
        {...rest}
        aria-disabled={off || undefined}
        aria-busy={busy || undefined}
        aria-describedby={reason ? reasonId : rest["aria-describedby"]}
        title={reason ?? rest.title}
        onClick={off ? (event) => event.preventDefault() : rest.onClick}
        className={cn(
          SHAPE,
          VARIANTS[variant],
          SIZES[size],
          off && "cursor-not-allowed opacity-55 hover:bg-inherit",
          off && variant === "primary" && "hover:bg-solid",
          className,
        )}
      />
      {reason ? (
        <span id={reasonId} hidden>
          {reason}
        </span>
      ) : null}
    </>
  );
}
