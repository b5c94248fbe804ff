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

/** What every page needs around it. */
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
