import type { NamedFile } from "../artifacts/collect";

/**
 * A file that a command wants to be kept. A frame without a name or a path is taken as well: it names a file that cannot
 * be kept, which fails the attempt instead of being lost.
 */
export function toArtifact({ name, path, content_type }: Record<string, unknown>): NamedFile & { type: "artifact" } {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const contentType = typeof content_type === "string" ? { contentType: content_type } : {};
  return { type: "artifact", name: text(name) || text(path).replace(/^\.\//, ""), path: text(path), ...contentType };
}
