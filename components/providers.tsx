/*
 * The web console's components, in a folder per page. Pages read with the queries of lib/client and hold no logic of
 * the queue. Nothing moves under the user: changed rows are updated in place, and new rows wait behind a button. Text
 * from outside is shown through `ui/plain.tsx`, which marks invisible characters.
 *
 * Start with `shell/app-shell.tsx` (the frame), `jobs/list/jobs-page.tsx` and `jobs/detail/job-detail.tsx`; `ui/` has
 * the building blocks of all pages: `ui/forms/` those of dialogs that ask for something, `ui/lists/` those of lists and
 * tables.
 */

"use client";

import { QueryClientProvider } from "@tanstack/react-query";
import { ThemeProvider } from "next-themes";
import { NuqsAdapter } from "nuqs/adapters/next/app";
import { type ReactNode, useState } from "react";
import { RenderedAt } from "@/lib/client/clock";
import { makeQueryClient } from "@/lib/client/query-client";
import { AnnouncerProvider } from "./ui/announcer";
import { ToastProvider } from "./ui/toast";

interface ProvidersProps {
  /** Lets the theme's inline script pass the content security policy. */
  readonly nonce: string | undefined;
  /** When this page was rendered, in milliseconds. */
  readonly renderedAt: number;
  readonly children: ReactNode;
}

/** The providers that every page needs. */
export function Providers({ nonce, renderedAt, children }: ProvidersProps) {
  const [client] = useState(makeQueryClient);
  return (
    <ThemeProvider attribute="class" nonce={nonce} disableTransitionOnChange>
      <NuqsAdapter>
        <QueryClientProvider client={client}>
          <AnnouncerProvider>
            <ToastProvider>
              <RenderedAt value={renderedAt}>{children}</RenderedAt>
            </ToastProvider>
          </AnnouncerProvider>
        </QueryClientProvider>
      </NuqsAdapter>
    </ThemeProvider>
  );
}
