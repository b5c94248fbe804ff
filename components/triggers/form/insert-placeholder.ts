/** Inserts a placeholder into a JSON text; adds quotes unless the position is inside a string. */
export function withPlaceholder(
  json: string,
  { from, to, text }: { readonly from: number; readonly to: number; readonly text: string },
): string {
  const before = json.slice(0, from);
  const quotes = before.replaceAll(/\\./gs, "").split('"').length - 1;
  const inserted = quotes % 2 === 1 ? text : `"${text}"`;
  return before + inserted + json.slice(to);
}
