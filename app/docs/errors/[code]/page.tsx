import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { DocsPage } from "@/components/docs/docs-page";
import { ERROR_HELP } from "@/components/docs/error-help";
import { PROBLEMS, problemCode } from "@/lib/contract";

interface ErrorDocsProps {
  readonly params: Promise<{ readonly code: string }>;
}

/** Returns the error's title for the tab; nothing for an unknown code, whose page is "not found". */
export async function generateMetadata({ params }: ErrorDocsProps): Promise<Metadata> {
  const known = problemCode.safeParse((await params).code);
  return known.success ? { title: PROBLEMS[known.data][1] } : {};
}

/** The meaning of one error code and what to do: the page named by `type` in an error answer. */
export default async function ErrorDocs({ params }: ErrorDocsProps) {
  const known = problemCode.safeParse((await params).code);
  if (!known.success) notFound();
  const [status, title] = PROBLEMS[known.data];
  const { meaning, remedy } = ERROR_HELP[known.data];
  return (
    <DocsPage title={title}>
      <section className="panel flex flex-col gap-5 p-6">
        <p className="text-muted text-sm">
          <code className="font-mono">{known.data}</code> · HTTP {status}
        </p>
        <div className="flex flex-col gap-1">
          <h2 className="font-medium text-muted text-sm">What it means</h2>
          <p>{meaning}</p>
        </div>
        <div className="flex flex-col gap-1">
          <h2 className="font-medium text-muted text-sm">What to do</h2>
          <p>{remedy}</p>
        </div>
      </section>
      <nav aria-label="More" className="flex gap-5">
        <a href="/docs/errors" className="font-medium text-accent underline">
          All errors
        </a>
        <a href="/docs/api" className="font-medium text-accent underline">
          API reference
        </a>
      </nav>
    </DocsPage>
  );
}
