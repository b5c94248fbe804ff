"use client";

import { ArrowUp } from "lucide-react";
import { cn } from "./cn";

interface ShowNewestProps {
  /** What a row is, in the singular. */
  readonly noun: string;
  /** Its plural, where that is not with an s. */
  readonly nouns?: string;
  /** How many new rows wait to be shown. */
  readonly waiting: number;
  readonly onShow: () => void;
  readonly className?: string;
}

/** The button that shows rows which wait; nothing while none does. Its place must be as high without it. */
export function ShowNewest({ noun, nouns = `${noun}s`, waiting, onShow, className }: ShowNewestProps) {
  if (waiting === 0) return null;
  return (
    <button
      type="button"
      onClick={onShow}
      className={cn(
        "flex h-7 shrink-0 items-center gap-1.5 rounded-full bg-accent-soft px-3 font-medium text-accent text-xs hover:underline",
        className,
      )}
    >
      <ArrowUp aria-hidden className="size-3.5" />
      {waiting} new {waiting === 1 ? noun : nouns} – show
    </button>
  );
}
