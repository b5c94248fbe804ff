import { type ScannedTemplate, scanTemplate, shown, type TemplatePath } from "../triggers/template-parts.policy";
import { parseResultPath } from "./result-path.policy";

const PARENT = /^parents\.([A-Za-z0-9_-]{1,100})(?:\.(.+))?$/;

/**
 * Finds the placeholders for parents' results in a payload, `{{parents.<name>.result.<path>}}` or `.status`; see
 * `scanTemplate`. `edges` maps the name of a parent to its edge, which becomes the first step of a path.
 */
export function compileTemplate(payload: unknown, edges: ReadonlyMap<string, number>): ScannedTemplate {
  return scanTemplate(payload, (path) => readParentPath(path, edges));
}

function readParentPath(path: string, edges: ReadonlyMap<string, number>): TemplatePath | string {
  const match = PARENT.exec(path);
  if (!match) return "has a placeholder that is not {{parents.<name>.result…}} or {{parents.<name>.status}}";
  const [, name = "", rest = ""] = match;
  const edge = edges.get(name);
  if (edge === undefined) return `names a parent that is not in depends_on: ${shown(name)}`;
  const steps = parseResultPath(rest);
  if (!steps) return "has a path that is not status, or result followed by .name and [index] steps";
  return { name: path, steps: [`${edge}`, ...steps] };
}
