import { ChevronRight } from "lucide-react";

/** The arrow of a `summary` whose layout hides the browser's own; it turns while its `details` is open. */
export function FoldMark() {
  return <ChevronRight aria-hidden className="size-3.5 shrink-0 text-muted [details[open]>summary>&]:rotate-90" />;
}
