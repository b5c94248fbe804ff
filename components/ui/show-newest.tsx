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
        "flex h-6.5 shrink-0 items-center gap-1.5 rounded-full bg-accent-soft px-3 font-medium text-accent text-xs hover:underline",
        className,
      )}
    >
      <ArrowUp aria-hidden className="size-3.5" />
      {/* As wide for any number, or it would move with each row that arrives. */}
      <span
        data-widest={`99 new ${nouns} – show`}
        className="grid text-left before:invisible before:col-start-1 before:row-start-1 before:content-[attr(data-widest)]"
      >
        <span className="col-start-1 row-start-1">{`${waiting} new ${waiting === 1 ? noun : nouns} – show`}</span>
      </span>
    </button>
  );
}
