import type { Metadata } from "next";
import { DocsPage } from "@/components/docs/docs-page";
import { PROBLEMS } from "@/lib/contract";

export const metadata: Metadata = { title: "Errors" };

/** Every error code of the API; each links to the page named by its `type`. */
export default function ErrorsPage() {
  return (
    <DocsPage title="Errors of the API">
      <ul className="panel flex flex-col divide-y divide-line">
        {Object.entries(PROBLEMS).map(([code, [status, title]]) => (
          <li key={code}>
            <a
              href={`/docs/errors/${code}`}
              className="grid gap-x-4 px-4 py-3 hover:underline sm:grid-cols-[3rem_14rem_1fr]"
            >
              <span className="text-muted tabular-nums">{status}</span>
              <code className="font-mono text-sm">{code}</code>
              <span className="text-sm">{title}</span>
            </a>
          </li>
        ))}
      </ul>
    </DocsPage>
  );
}
