import type { Metadata } from "next";
import { DOCUMENTED_ROUTES } from "@/app/api/v1/openapi.json/documented-routes";
import { ApiBasics } from "@/components/docs/api-basics";
import { DocsPage } from "@/components/docs/docs-page";
import { OperationPanel } from "@/components/docs/operation";
import { openApiDocument } from "@/lib/api/openapi";
import { type ApiDocument, type Operation, operationsOf } from "@/lib/contract/reference";

export const metadata: Metadata = { title: "API reference" };

const GROUPS = ["Jobs", "Folders and files", "Account", "Platform", "Health"] as const;
const TOPICS = ["Authentication", "Errors", "Pagination", "Idempotency"] as const;

/** The API reference, generated from the document at `/api/v1/openapi.json`. */
export default function ApiReferencePage() {
  const operations = operationsOf(openApiDocument(DOCUMENTED_ROUTES, "1") as unknown as ApiDocument);
  return (
    <DocsPage title="API reference">
      <p className="text-muted">
        JSON over HTTP. Made from the schemas that check each request and answer; for programs the same is at{" "}
        <a href="/api/v1/openapi.json" className="font-medium text-accent underline">
          /api/v1/openapi.json
        </a>{" "}
        (OpenAPI 3.1).
      </p>
      <Contents operations={operations} />
      <ApiBasics />
      {GROUPS.map((group) => (
        <section key={group} aria-labelledby={anchor(group)} className="flex min-w-0 flex-col gap-3">
          <h2 id={anchor(group)} className="scroll-mt-4 font-semibold text-xl tracking-tight">
            {group}
          </h2>
          {operations
            .filter((operation) => operation.group === group)
            .map((operation) => (
              <OperationPanel key={operation.id} operation={operation} />
            ))}
        </section>
      ))}
    </DocsPage>
  );
}

function Contents({ operations }: { readonly operations: readonly Operation[] }) {
  return (
    <nav aria-label="Contents" className="panel flex flex-col gap-4 p-4 sm:p-6">
      <ul className="flex flex-wrap gap-x-5 gap-y-2">
        {TOPICS.map((topic) => (
          <li key={topic}>
            <a href={`#${topic.toLowerCase()}`} className="font-medium text-accent hover:underline">
              {topic}
            </a>
          </li>
        ))}
      </ul>
      {GROUPS.map((group) => (
        <div key={group} className="flex flex-col gap-1">
          <a href={`#${anchor(group)}`} className="w-fit py-0.5 font-medium hover:underline">
            {group}
          </a>
          <ul className="flex flex-col">
            {operations
              .filter((operation) => operation.group === group)
              .map(({ id, method, path }) => (
                <li key={id}>
                  <a
                    href={`#${id}`}
                    className="grid grid-cols-[3.25rem_minmax(0,1fr)] py-1 font-mono text-xs hover:underline sm:grid-cols-[3.5rem_minmax(0,1fr)] sm:text-sm"
                  >
                    <span className="text-muted">{method}</span>
                    <span className="break-words">{path}</span>
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

const anchor = (group: string): string => `group-${group.toLowerCase().replaceAll(" ", "-")}`;
