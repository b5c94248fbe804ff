import type { ComponentProps } from "react";

/** Preformatted text in a box that can be scrolled by keyboard too. */
export function ScrollPre(props: ComponentProps<"pre">) {
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      {...props}
    />
  );
}
