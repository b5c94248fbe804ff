import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { DocsPage } from "@/components/docs/docs-page";
import { adviceFor } from "@/components/docs/error-advice";
import { PROBLEMS, problemCode } from "@/lib/contract";

interface ErrorDocsProps {
  readonly params: Promise<{ readonly code: string }>;
}

export const metadata: Metadata = { title: "Error" };

/** What one error code means and what to do about it: the page that `type` of an error answer names. */
export default async function ErrorDocs({ params }: ErrorDocsProps) {
  const known = problemCode.safeParse((await params).code);
  if (!known.success) notFound();
  const [status, title] = PROBLEMS[known.data];
  return (
    <DocsPage title={title}>
      <section className="panel flex flex-col gap-3 p-6">
        <p className="text-muted text-sm">
          <code className="font-mono">{known.data}</code> · HTTP {status}
        </p>
        <p>{adviceFor(status)}</p>
      </section>
      <a href="/docs/errors" className="font-medium text-accent underline">
        All errors
      </a>
    </DocsPage>
  );
}
