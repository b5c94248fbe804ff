import type { Edge, Linked } from "../dependencies/link-jobs.policy";
import type { NewJobItem } from "./new-job-item";

const KIND_FIELDS = [
  "definition_id",
  "definition_version",
  "priority",
  "max_attempts",
  "timeout_seconds",
  "queue",
] as const satisfies readonly (keyof NewJobItem)[];
/** Fields that an item has in addition to its kind. */
const OWN_FIELDS = [
  "rank",
  "awaited",
  "source",
  "source_ref",
  "payload",
  "tags",
  "metadata",
  "correlation_id",
  "parent_job_id",
  "retried_from_id",
  "scheduled_for",
  "expires_at",
  "retry_delay_seconds",
  "retry_multiplier",
  "created_by",
  "dedupe_key",
  "dedupe_mode",
  "dedupe_window_seconds",
  "dedupe_on_conflict",
  "chain_depth",
  "actor",
] as const satisfies readonly (keyof NewJobItem)[];

const EDGE_FIELDS = ["alias", "type", "condition", "on_failure", "bindings"] as const;

/** The arguments of app.enqueue_jobs after the tenant. */
export type BatchParameters = [kinds: string, items: string, parents: string[]];

/** Returns the arguments for a batch. Values that many items share are sent once, and defaults are not sent. */
export function batchParameters(items: readonly NewJobItem[]): BatchParameters {
  const kindNos = new Map<string, number>();
  const kinds: NewJobItem[] = [];
  const parents = new Map<string, number>();
  let last: NewJobItem | undefined;
  let kind = 0;
  const own = items.map((item) => {
    if (!last || !isOfKind(item, last)) {
      const name = JSON.stringify(item, [...KIND_FIELDS]);
      kind = kindNos.get(name) ?? kinds.push(item) - 1;
      kindNos.set(name, kind);
      last = item;
    }
    return `{"kind":${kind}${ownPart(item)}${edgesPart(item.depends_on, { parents, after: items.length })}}`;
  });
  return [JSON.stringify(kinds, [...KIND_FIELDS]), `[${own.join(",")}]`, [...parents.keys()]];
}

const COMMON_FIELDS = OWN_FIELDS.filter((field) => !["payload", "rank", "awaited"].includes(field));

/**
 * Returns the arguments for jobs that share an item (without a link) and have a payload and a link each. The shared
 * part is serialized once.
 */
export function linkedParameters(
  item: NewJobItem,
  { payloads, links }: { readonly payloads: readonly unknown[]; readonly links: readonly Linked[] },
): BatchParameters {
  const parents = new Map<string, number>();
  const common = `{"kind":0${ownPart(item, COMMON_FIELDS)}`;
  const own = links.map(({ rank, awaited, edges }, index) => {
    const rankPart = rank === undefined ? "" : `,"rank":${rank}`;
    const payload = JSON.stringify(payloads[index]);
    const waits = edgesPart(edges, { parents, after: links.length });
    return `${common}${rankPart}${awaited ? ',"awaited":true' : ""},"payload":${payload}${waits}}`;
  });
  return [JSON.stringify([item], [...KIND_FIELDS]), `[${own.join(",")}]`, [...parents.keys()]];
}

const isOfKind = (item: NewJobItem, other: NewJobItem): boolean =>
  KIND_FIELDS.every((field) => item[field] === other[field]);

/**
 * Returns the own fields of an item as JSON. Copying the item without its shared fields first would take several times
 * as long.
 */
function ownPart(item: NewJobItem, fields: readonly (typeof OWN_FIELDS)[number][] = OWN_FIELDS): string {
  let text = "";
  for (const field of fields) {
    const value = item[field];
    if (value === undefined || (value === null && field !== "payload") || (field === "source" && value === "manual"))
      continue;
    text += `,"${field}":${JSON.stringify(value)}`;
  }
  return text;
}

/**
 * Returns the edges of an item. Existing parents are numbered after the items of the batch, in the order of first use.
 */
function edgesPart(
  given: readonly Edge[] | undefined,
  { parents, after }: { readonly parents: Map<string, number>; readonly after: number },
): string {
  if (given === undefined || given.length === 0) return "";
  const edges = given.map((edge) => {
    const known = typeof edge.parent === "number" ? edge.parent : parents.get(edge.parent);
    const position = known ?? after + parents.size + 1;
    if (known === undefined) parents.set(edge.parent as string, position);
    let text = `{"parent":${position}`;
    if (edge.edge_no > 1) text += `,"edge_no":${edge.edge_no}`;
    for (const field of EDGE_FIELDS)
      if (edge[field] !== undefined) text += `,"${field}":${JSON.stringify(edge[field])}`;
    return `${text}}`;
  });
  return `,"depends_on":[${edges.join(",")}]`;
}
