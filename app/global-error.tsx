"use client";

import "./globals.css";
import { ErrorMessage } from "@/components/shell/error-message";

export default function GlobalError({ error }: { readonly error: Error & { digest?: string } }) {
  return (
    <html lang="en">
      <body>
        <title>Something went wrong · Leasehold</title>
        <ErrorMessage error={error}>
          <a href="/" className="font-medium text-accent underline">
            Try again
          </a>
        </ErrorMessage>
      </body>
    </html>
  );
}
