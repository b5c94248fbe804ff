import type { ReactNode } from "react";
import { Pre } from "./operation";

const FIRST_CALL = `URL=https://leasehold.example.com
KEY=lhk_live_…

curl -sS "$URL/api/v1/me" -H "Authorization: Bearer $KEY"`;

const PROBLEM = `{"type": "/docs/errors/validation-failed", "title": "The request is not valid", "status": 422,
 "detail": "The request is not valid", "instance": "/api/v1/jobs", "code": "validation-failed", "request_id": "…",
 "errors": [{"pointer": "/payload/a", "code": "nul-character", "detail": "U+0000 cannot be stored"}]}`;

/** What is common to all operations: authentication, errors, lists, retries. */
export function ApiBasics() {
  return (
    <>
      <Topic id="authentication" title="Authentication">
        <p>
          Send an API key as <C>Authorization: Bearer lhk_live_…</C>, never in the URL. A key allows what its scopes and
          its creator's current role both allow, and keeps working while its creator must change a one-time password.
          The pages use a session cookie instead. A request with both is refused.
        </p>
        <p>
          The tenant is the key's own. With a session or a super admin's key, name it by id or slug in{" "}
          <C>X-Tenant-Id</C>.
        </p>
        <Pre label="First call" text={FIRST_CALL} />
      </Topic>
      <Topic id="errors" title="Errors">
        <p>
          Errors are <C>application/problem+json</C>. The <C>code</C> is stable, texts are not. <C>type</C> is a page
          that explains the error. <Link href="/docs/errors">All error codes</Link>
        </p>
        <Pre label="An error answer" text={PROBLEM} />
      </Topic>
      <Topic id="pagination" title="Pagination">
        <p>
          Lists return <C>data</C> and <C>pagination</C>, newest first. Get up to 200 rows with <C>limit</C> (default
          50). While <C>has_more</C> is true, continue with <C>cursor</C> set to <C>next_cursor</C>: no row is skipped
          or repeated while rows change. <C>offset</C> works up to 10,000, not together with a cursor. <C>total</C> is
          exact to 10,000; beyond that <C>total_relation</C> is <C>gte</C>.
        </p>
      </Topic>
      <Topic id="idempotency" title="Idempotency">
        <p>
          With an <C>Idempotency-Key</C> a POST is safe to repeat: for 24 hours the same key with the same body gets the
          same answer, with <C>Idempotency-Replayed: true</C>. Another body with the same key is refused. A failed
          request does not use up its key.
        </p>
      </Topic>
    </>
  );
}

function Topic({ id, title, children }: { readonly id: string; readonly title: string; readonly children: ReactNode }) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} className="flex min-w-0 scroll-mt-4 flex-col gap-2">
      <h2 id={`${id}-title`} className="font-semibold text-xl tracking-tight">
        {title}
      </h2>
      {children}
    </section>
  );
}

function C({ children }: { readonly children: string }) {
  return <code className="break-words rounded-sm bg-sunken px-1 font-mono text-sm">{children}</code>;
}

function Link({ href, children }: { readonly href: string; readonly children: string }) {
  return (
    <a href={href} className="font-medium text-accent underline">
      {children}
    </a>
  );
}
