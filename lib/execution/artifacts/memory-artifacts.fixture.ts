import { NonRetryableError } from "../errors";
import type { ArtifactStore } from "./types";

interface StoredFile {
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly chunks: readonly number[];
}

/** An artifact store in memory, with a quota. */
export function memoryArtifacts(quotaBytes = Number.POSITIVE_INFINITY) {
  const begun = new Map<string, { readonly name: string; readonly contentType: string; readonly chunks: Buffer[] }>();
  const files = new Map<string, StoredFile>();
  const discarded: string[] = [];
  let used = 0;
  const store: ArtifactStore = {
    begin: async (artifact) => {
      const id = String(begun.size + 1);
      begun.set(id, { ...artifact, chunks: [] });
      return id;
    },
    append: async (id, _no, bytes) => {
      used += bytes.length;
      if (used > quotaBytes) throw new NonRetryableError("the quota is full", { errorType: "internal" });
      begun.get(id)?.chunks.push(Buffer.from(bytes));
    },
    finish: async (id) => {
      const { name = "", contentType = "", chunks = [] } = begun.get(id) ?? {};
      files.set(name, { name, contentType, bytes: Buffer.concat(chunks), chunks: chunks.map(({ length }) => length) });
    },
    discard: async (ids) => void discarded.push(...ids),
  };
  return { store, files, discarded };
}
