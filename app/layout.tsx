/*
 * Pages and routes of the web process. Folders are addresses; the code is elsewhere: `api/` wraps lib/api, pages wrap
 * components. Every tenant or platform page and layout calls its guard first (`requirePage` or `requirePlatformPage`).
 * Every route is declared in lib/api/routes.ts.
 */

import { GeistMono } from "geist/font/mono";
import { GeistSans } from "geist/font/sans";
import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import { Providers } from "@/components/providers";
import { requestNonce } from "@/lib/api/page";
import "./globals.css";

export const metadata: Metadata = {
  title: { default: "Leasehold", template: "%s · Leasehold" },
  description: "Jobs of your tenant: what is waiting, running, failed and why.",
};

export const viewport: Viewport = {
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#f6f7f9" },
    { media: "(prefers-color-scheme: dark)", color: "#0c0e11" },
  ],
};

export default async function RootLayout({ children }: { readonly children: ReactNode }) {
  const nonce = await requestNonce();
  return (
    <html lang="en" suppressHydrationWarning className={`${GeistSans.variable} ${GeistMono.variable}`}>
      <body>
        <a href="#main" className="skip-link">
          Skip to content
        </a>
        <Providers nonce={nonce} renderedAt={Date.now()}>
          {children}
        </Providers>
      </body>
    </html>
  );
}
