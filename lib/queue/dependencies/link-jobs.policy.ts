import { checkPayload } from "../enqueue/payload-check.policy";
import { QueueError } from "../errors";
import type { Binding } from "../triggers/template-parts.policy";
import type { Dependency, FieldProblem, NewJob, OnParentFailure } from "../types";
import { compileCondition, type StoredCondition } from "./condition.policy";
import { compileTemplate } from "./template.policy";

/** Maximum edges per call. */
export const EDGES_MAX = 10_000;
const NAME = /^[A-Za-z0-9_-]{1,100}$/;

/** An edge, in the form that `batchParameters` takes. */
export interface Edge {
  /** From 1. */
  readonly edge_no: number;
  /** The position of a job in the call (from 1), or the id of a job that exists. */
  readonly parent: number | string;
  readonly alias?: string;
  /** Default success. */
  readonly type?: string;
  readonly condition?: StoredCondition;
  /** Default cancel. */
  readonly on_failure?: OnParentFailure;
  readonly bindings?: readonly Binding[];
}

/** The edges of a new job (none = it has no parents), and what they require of its id. */
export interface Linked {
  /** The position of the job's id among those of the call (from 1), if the ids do not rise in the order given. */
  readonly rank: number | undefined;
  /** True if other jobs of the call wait for it. */
  readonly awaited: true | undefined;
  readonly edges: readonly Edge[];
}

/** The fields of a job that `linkJobs` checks. */
export const LINK_FIELDS = ["ref", "dependsOn", "onParentFailure"] as const satisfies readonly (keyof NewJob)[];

export const isLinked = (job: NewJob): boolean => job.ref !== undefined || job.dependsOn !== undefined;

/** True if results become part of the job's payload, which therefore cannot be validated before they exist. */
export const takesResults = (job: NewJob): boolean => job.dependsOn?.some(({ type }) => type === "data") ?? false;

/** Returns the ids of existing jobs that the given jobs wait for, each once. */
export function outerParents(jobs: readonly NewJob[]): string[] {
  return [
    ...new Set(jobs.flatMap((job) => (job.dependsOn ?? []).flatMap(({ jobId }) => (jobId ? [normal(jobId)] : [])))),
  ];
}

const normal = (id: string): string => id.toLowerCase();

interface Plan {
  readonly jobs: readonly NewJob[];
  /** Returns the JSON pointer of a job in the request. */
  readonly at: (index: number) => string;
  readonly byRef: ReadonlyMap<string, number>;
  readonly known: ReadonlySet<string> | undefined;
  readonly problems: FieldProblem[];
}

/**
 * Resolves which job waits for which. Ranks make the id of a child greater than those of its parents, because locks are
 * taken in the order of ids. `known` lists the outer parents that the tenant has; without it, they are not checked.
 * @throws QueueError invalid-value with pointers: ref-duplicate, ref-unknown, job-unknown, cycle and faults of form
 */
export function linkJobs(
  jobs: readonly NewJob[],
  given: { readonly at: Plan["at"]; readonly known?: readonly string[] },
): Linked[] {
  const problems: FieldProblem[] = [];
  const { at } = given;
  const byRef = indexRefs(jobs, at, problems);
  const order = isInOrder(jobs, byRef) ? undefined : orderJobs(jobs, { at, byRef, problems });
  const known = given.known && new Set(given.known.map(normal));
  const plan: Plan = { jobs, at, byRef, known, problems };
  if (jobs.reduce((sum, job) => sum + (job.dependsOn?.length ?? 0), 0) > EDGES_MAX)
    problems.push({ pointer: "", code: "length", detail: `has more than ${EDGES_MAX} dependencies` });
  const edges = jobs.map((job, index) => edgesOf(job, index, plan));
  if (problems.length > 0)
    throw new QueueError("invalid-value", "The dependencies are not valid.", { problems: problems.slice(0, 20) });
  const ranks = order && ranksOf(order);
  const awaited: true[] = [];
  for (const own of edges) for (const { parent } of own) if (typeof parent === "number") awaited[parent] = true;
  return edges.map((own, index) => ({
    rank: ranks?.[index],
    awaited: awaited[index + 1],
    edges: own,
  }));
}

/** True if each job follows its parents and no two jobs can be the same by dedupe key. Then there is no cycle. */
const isInOrder = (jobs: readonly NewJob[], byRef: Plan["byRef"]): boolean =>
  jobs.every(
    ({ dedupeKey, dependsOn }, index) =>
      dedupeKey === undefined &&
      (dependsOn === undefined || dependsOn.every(({ ref }) => ref === undefined || (byRef.get(ref) ?? -1) < index)),
  );

/** Returns the rank of each job; undefined if the order is that of the jobs. */
function ranksOf(order: readonly number[]): number[] | undefined {
  if (order.every((index, position) => index === position)) return undefined;
  const ranks = new Array<number>(order.length);
  order.forEach((index, position) => {
    ranks[index] = position + 1;
  });
  return ranks;
}

function indexRefs(jobs: readonly NewJob[], at: Plan["at"], problems: FieldProblem[]): Map<string, number> {
  const byRef = new Map<string, number>();
  jobs.forEach(({ ref }, index) => {
    if (ref === undefined) return;
    const report = (code: string, detail: string) => problems.push({ pointer: `${at(index)}/ref`, code, detail });
    if (!NAME.test(ref)) report("format", "must have 1 to 100 of A-Z a-z 0-9 _ -");
    if (byRef.has(ref)) report("ref-duplicate", "another job has this ref");
    else byRef.set(ref, index);
  });
  return byRef;
}

/** Orders jobs so that each follows its parents. A cycle is reported; its jobs, and those below it, come last. */
function orderJobs(jobs: readonly NewJob[], plan: Pick<Plan, "at" | "byRef" | "problems">): number[] {
  const same = sameJobs(jobs);
  const parents = jobs.map((job) => parentsOf(job, plan.byRef).map((index) => same[index] ?? index));
  const open = jobs.map((_job, index) => (same[index] === index ? (parents[index]?.length ?? 0) : 0));
  const children = jobs.map((): number[] => []);
  parents.forEach((list, child) => {
    if (same[child] === child) for (const parent of list) children[parent]?.push(child);
  });
  const order = open.flatMap((count, index) => (count === 0 ? [index] : []));
  for (let next = 0; next < order.length; next += 1) {
    for (const child of children[order[next] ?? -1] ?? []) {
      open[child] = (open[child] ?? 0) - 1;
      if (open[child] === 0) order.push(child);
    }
  }
  const done = new Set(order);
  const left = jobs.flatMap((_job, index) => (done.has(index) ? [] : [index]));
  if (left.length > 0) plan.problems.push(cycleProblem(jobs, left, { ...plan, parents }));
  return [...order, ...left];
}

/**
 * Maps each job to the first job with its dedupe key. Such jobs are one job: the first takes the key, the others return
 * it.
 */
function sameJobs(jobs: readonly NewJob[]): number[] {
  const first = new Map<string, number>();
  return jobs.map(({ dedupeKey }, index) => {
    if (dedupeKey === undefined) return index;
    const holder = first.get(dedupeKey) ?? index;
    first.set(dedupeKey, holder);
    return holder;
  });
}

const parentsOf = (job: NewJob, byRef: ReadonlyMap<string, number>): number[] =>
  (job.dependsOn ?? []).flatMap(({ ref }) => (ref === undefined ? [] : (byRef.get(ref) ?? [])));

/**
 * Finds an edge of a cycle. Each job that is left has a parent that is left, so following these parents meets a cycle.
 */
function cycleProblem(
  jobs: readonly NewJob[],
  left: readonly number[],
  plan: Pick<Plan, "at" | "byRef"> & { readonly parents: readonly (readonly number[])[] },
): FieldProblem {
  const stuck = new Set(left);
  const seen = new Set<number>();
  let current = left[0] ?? 0;
  while (!seen.has(current)) {
    seen.add(current);
    current = plan.parents[current]?.find((parent) => stuck.has(parent)) ?? current;
  }
  const next = plan.parents[current]?.find((parent) => stuck.has(parent));
  const edge = (jobs[current]?.dependsOn ?? []).findIndex(
    ({ ref }) =>
      ref !== undefined && (plan.byRef.get(ref) === next || sameJobs(jobs)[plan.byRef.get(ref) ?? -1] === next),
  );
  const pointer = `${plan.at(current)}/depends_on/${Math.max(edge, 0)}/ref`;
  return { pointer, code: "cycle", detail: "makes the job wait for itself" };
}

function edgesOf(job: NewJob, index: number, plan: Plan): Edge[] {
  if (job.dependsOn === undefined && job.onParentFailure === undefined) return [];
  const here = plan.at(index);
  const dependsOn = job.dependsOn ?? [];
  const edges = dependsOn.map((dependency, position) => {
    const found = edgeOf(dependency, { pointer: `${here}/depends_on/${position}`, plan });
    return { edge_no: position + 1, ...found, ...(job.onParentFailure && { on_failure: job.onParentFailure }) };
  });
  if (job.onParentFailure !== undefined && dependsOn.length === 0) {
    const detail = "is only for a job with depends_on";
    plan.problems.push({ pointer: `${here}/on_parent_failure`, code: "unexpected", detail });
  }
  return takesResults(job) ? withBindings(job, edges, { pointer: here, problems: plan.problems }) : edges;
}

function edgeOf(
  dependency: Dependency,
  { pointer, plan }: { readonly pointer: string; readonly plan: Plan },
): Omit<Edge, "edge_no" | "on_failure"> {
  const { type, condition } = dependency;
  const alias = dependency.as ?? dependency.ref;
  if (alias !== undefined && !NAME.test(alias))
    plan.problems.push({ pointer: `${pointer}/as`, code: "format", detail: "must have 1 to 100 of A-Z a-z 0-9 _ -" });
  const base = {
    parent: parentOf(dependency, pointer, plan),
    ...(type && { type }),
    ...(alias === undefined ? {} : { alias }),
  };
  if (type !== "conditional") {
    if (condition !== undefined)
      plan.problems.push({
        pointer: `${pointer}/condition`,
        code: "unexpected",
        detail: "is only for the type conditional",
      });
    return base;
  }
  if (condition === undefined) {
    plan.problems.push({
      pointer: `${pointer}/condition`,
      code: "required",
      detail: "is required for the type conditional",
    });
    return base;
  }
  const compiled = compileCondition(condition);
  if ("steps" in compiled) return { ...base, condition: compiled };
  plan.problems.push(...compiled.map((found) => ({ ...found, pointer: `${pointer}/condition${found.pointer}` })));
  return base;
}

function parentOf({ ref, jobId }: Dependency, pointer: string, { byRef, known, problems }: Plan): Edge["parent"] {
  if ((ref === undefined) === (jobId === undefined)) {
    problems.push({ pointer, code: "required", detail: "needs either ref or job_id" });
    return "";
  }
  if (ref !== undefined) {
    const index = byRef.get(ref);
    if (index !== undefined) return index + 1;
    problems.push({
      pointer: `${pointer}/ref`,
      code: "ref-unknown",
      detail: "is not the ref of a job in this request",
    });
    return "";
  }
  const id = normal(jobId ?? "");
  if (known?.has(id) === false)
    problems.push({ pointer: `${pointer}/job_id`, code: "job-unknown", detail: "is not a known job" });
  return id;
}

/** Adds the placeholders for parents' results to the first data edge. */
function withBindings(
  job: NewJob,
  edges: readonly Edge[],
  { pointer, problems }: { readonly pointer: string; readonly problems: FieldProblem[] },
): Edge[] {
  const payload = job.payload === undefined ? {} : job.payload;
  // A payload that cannot be stored is refused, with a better message, by the check of the job itself.
  if (checkPayload(payload).length > 0) return [...edges];
  const names = new Map<string, number>();
  edges.forEach(({ alias, edge_no }, position) => {
    if (alias === undefined) return;
    const first = edges[(names.get(alias) ?? edge_no) - 1];
    if (first?.parent !== edges[position]?.parent)
      problems.push({
        pointer: `${pointer}/depends_on/${position}/as`,
        code: "duplicate",
        detail: "another parent has this name",
      });
    if (!names.has(alias)) names.set(alias, edge_no);
  });
  const template = compileTemplate(JSON.parse(JSON.stringify(payload)), names);
  problems.push(...template.problems.map((found) => ({ ...found, pointer: `${pointer}/payload${found.pointer}` })));
  const first = edges.findIndex(({ type }) => type === "data");
  return edges.map((edge, position) => (position === first ? { ...edge, bindings: template.bindings } : edge));
}
