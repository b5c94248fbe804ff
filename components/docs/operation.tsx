import { FoldMark } from "@/components/ui/fold-mark";
import { ScrollPre } from "@/components/ui/scroll-pre";
import type { FieldLine, Operation } from "@/lib/contract/reference";

/** One operation: its permission, its input, its answers, and how to call it. */
export function OperationPanel({ operation }: { readonly operation: Operation }) {
  const { id, method, path, summary, parameters, fields, answers, answer, curl } = operation;
  return (
    <section
      id={id}
      aria-labelledby={`${id}-title`}
      className="panel flex min-w-0 scroll-mt-4 flex-col gap-4 p-4 sm:p-6"
    >
      <div className="flex flex-col gap-1">
        <h3 id={`${id}-title`} className="font-medium text-lg">
          {summary}
        </h3>
        <p className="break-words font-mono text-sm">
          <span className="font-medium text-accent">{method}</span> {path}
        </p>
        <p className="text-muted text-sm">{whoMay(operation)}</p>
      </div>
      <FieldTable title="Parameters" lines={parameters} />
      <FieldTable title="Body" lines={fields} />
      <Code title="Example" label={`Example of ${method} ${path}`} text={curl} />
      <div className="flex flex-col gap-1">
        <h4 className="font-medium text-muted text-sm">Answers</h4>
        <ul className="flex flex-col gap-0.5 text-sm">
          {answers.map(({ status, description }) => (
            <li key={status} className="grid grid-cols-[3rem_1fr]">
              <span className="text-muted tabular-nums">{status}</span>
              <span>{description}</span>
            </li>
          ))}
        </ul>
      </div>
      {answer ? (
        <details className="min-w-0">
          <summary className="flex w-fit items-center gap-1 py-1 font-medium text-accent text-sm">
            <FoldMark />
            Schema of the answer
          </summary>
          <Pre label={`Schema of the answer of ${method} ${path}`} text={JSON.stringify(answer, null, 2)} />
        </details>
      ) : null}
    </section>
  );
}

function whoMay({ permission, sessionOnly }: Operation): string {
  if (permission === "open") return "Open to everybody";
  if (permission !== "signed-in") return `Needs ${permission}`;
  return sessionOnly ? "Any session, from a page of this installation; not with an API key" : "Any session or API key";
}

function FieldTable({ title, lines }: { readonly title: string; readonly lines: readonly FieldLine[] }) {
  if (lines.length === 0) return null;
  return (
    <div className="flex flex-col gap-1">
      <h4 className="font-medium text-muted text-sm">{title}</h4>
      <dl className="flex flex-col divide-y divide-line border-line border-y text-sm">
        {lines.map(({ name, place, required, type, description }) => (
          <div key={name} className="grid gap-x-4 py-2 sm:grid-cols-[14rem_1fr]">
            <dt className="min-w-0">
              <code className="break-words font-mono">{name}</code>
              {required ? <span className="ml-2 text-muted text-xs">required</span> : null}
            </dt>
            <dd className="min-w-0 break-words">
              {type}
              {place ? <span className="text-muted">, in the {place}</span> : null}
              {description ? <span className="block text-muted">{description}</span> : null}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Code({ title, label, text }: { readonly title: string; readonly label: string; readonly text: string }) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <h4 className="font-medium text-muted text-sm">{title}</h4>
      <Pre label={label} text={text} />
    </div>
  );
}

/** Preformatted text; text that is too wide scrolls inside. */
export function Pre({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <section aria-label={label} className="min-w-0">
      <ScrollPre className="max-h-[32rem] overflow-auto rounded-md bg-sunken px-3 py-2 font-mono text-xs">
        {text}
      </ScrollPre>
    </section>
  );
}
