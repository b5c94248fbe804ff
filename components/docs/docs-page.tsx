/*
 * The public reference below /docs: the API reference, and a page for each error code. The operations come from the
 * OpenAPI document, which is made from the declarations of the routes. The rest is written by hand: `api-basics.tsx`
 * and `error-help.ts`, where the compiler demands an entry for every error code.
 *
 * Start with `operation.tsx` (one operation of the API); the frame of all these pages is below.
 */

import type { ReactNode } from "react";
import { Logo } from "@/components/shell/logo";

/** Frame of the public reference pages. */
export function DocsPage({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <main
      id="main"
      tabIndex={-1}
      className="mx-auto flex min-h-dvh w-full max-w-3xl flex-col gap-6 px-4 py-10 outline-none"
    >
      <Logo />
      <h1 className="font-semibold text-2xl tracking-tight">{title}</h1>
      {children}
    </main>
  );
}
