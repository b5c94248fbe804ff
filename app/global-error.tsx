"use client";

import "./globals.css";
import { MessagePage } from "@/components/shell/message-page";

export default function GlobalError({ error }: { readonly error: Error & { digest?: string } }) {
  return (
    <html lang="en">
      <body>
        <title>Something went wrong · Leasehold</title>
        <MessagePage code="500" title="Something went wrong">
          <p>The page could not be shown. It may work in a moment.</p>
          {error.digest ? <p className="text-xs">Reference {error.digest}</p> : null}
          <a href="/" className="font-medium text-accent underline">
            Try again
          </a>
        </MessagePage>
      </body>
    </html>
  );
}
