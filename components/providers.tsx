"use client";

import { QueryClientProvider } from "@tanstack/react-query";
import { ThemeProvider } from "next-themes";
import { NuqsAdapter } from "nuqs/adapters/next/app";
import { type ReactNode, useState } from "react";
import { makeQueryClient } from "@/lib/client/query-client";
import { AnnouncerProvider } from "./ui/announcer";
import { ToastProvider } from "./ui/toast";

/** What every page needs around it. The nonce lets the theme's inline script pass the content security policy. */
export function Providers({ nonce, children }: { readonly nonce: string | undefined; readonly children: ReactNode }) {
  const [client] = useState(makeQueryClient);
  return (
    <ThemeProvider attribute="class" nonce={nonce} disableTransitionOnChange>
      <NuqsAdapter>
        <QueryClientProvider client={client}>
          <AnnouncerProvider>
            <ToastProvider>{children}</ToastProvider>
          </AnnouncerProvider>
        </QueryClientProvider>
      </NuqsAdapter>
    </ThemeProvider>
  );
}
