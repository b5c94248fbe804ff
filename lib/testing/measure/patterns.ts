import { createRequire } from "node:module";
import ts from "typescript";

/** A regular expression in the sources. */
export interface FoundPattern {
  readonly source: string;
  readonly flags: string;
  readonly line: number;
}

/** Returns the regular expression literals of a file, and the lines that build others. */
export function patternsIn(
  text: string,
  name: string,
): {
  readonly literals: readonly FoundPattern[];
  readonly made: readonly { readonly line: number; readonly isInFunction: boolean }[];
} {
  const kind = name.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, kind);
  const literals: FoundPattern[] = [];
  const made: { readonly line: number; readonly isInFunction: boolean }[] = [];
  const visit = (node: ts.Node, isInFunction: boolean): void => {
    const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf("/");
      literals.push({ source: node.text.slice(1, end), flags: node.text.slice(end + 1), line });
    }
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(file) === "RegExp")
      made.push({ line, isInFunction });
    const isFunction = ts.isFunctionLike(node);
    ts.forEachChild(node, (child) => visit(child, isInFunction || isFunction));
  };
  visit(file, false);
  return { literals, made };
}

interface Diagnostics {
  readonly status: "safe" | "vulnerable" | "unknown";
  readonly complexity?: { readonly summary: string };
  readonly attack?: { readonly pattern: string };
}
type Check = (source: string, flags: string, options: object) => Promise<Diagnostics>;

// The native program, where one exists for this machine, takes a tenth of the time of the JavaScript.
const { check } = createRequire(import.meta.url)("recheck") as { readonly check: Check };

/**
 * A decision that takes a second alone may take a minute beside others. Fuzzing is limited by steps only, because a
 * timeout on a busy machine proves nothing.
 */
const LIMITS = { timeout: 120_000, incubationTimeout: null, seedingTimeout: null };

/**
 * Returns why matching may be superlinear in the text, or null. Bounded repetitions count as constants, so only nested
 * or overlapping unbounded ones are found. A search that starts over at each character counts as well.
 */
export async function superLinear({ source, flags }: Pick<FoundPattern, "source" | "flags">): Promise<string | null> {
  if (!/[*+]|\{\d+,\}/.test(source)) return null;
  const small = source
    .replace(
      /\{(\d+),(\d+)\}/g,
      (_whole, least: string, most: string) => `{${Math.min(Number(least), 1)},${Math.min(Number(most), 2)}}`,
    )
    .replace(/\{(\d+)(,?)\}/g, (_whole, least: string, open: string) => `{${Math.min(Number(least), 2)}${open}}`);
  const found = await check(small, flags.replace(/[dv]/g, ""), LIMITS);
  if (found.status === "safe") return null;
  return `${found.complexity?.summary ?? "not decided in time"} ${found.attack?.pattern.slice(0, 100) ?? ""}`.trim();
}
