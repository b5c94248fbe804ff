"use client";

import NextLink from "next/link";
import type { ComponentProps } from "react";

/**
 * A link inside the console without prefetching. Next prefetches the page behind every new address that it shows; in a
 * live list that would be one request for each row that arrives.
 */
export function Link(props: Omit<ComponentProps<typeof NextLink>, "prefetch">) {
  return <NextLink {...props} prefetch={false} />;
}
