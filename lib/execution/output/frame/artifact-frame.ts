import type { NamedFile } from "../../artifacts/collect";

/**
 * Returns a file that a command wants to keep. A frame without a name or a path is accepted too: its file cannot be
 * kept, which fails the attempt instead of losing the file.
 */
export function artifactOfFrame({
  name,
  path,
  content_type,
}: Record<string, unknown>): NamedFile & { type: "artifact" } {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const contentType = typeof content_type === "string" ? { contentType: content_type } : {};
  return { type: "artifact", name: text(name) || text(path).replace(/^\.\//, ""), path: text(path), ...contentType };
}
