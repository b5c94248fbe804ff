/** Artifact types that handlers and workers share. Types only. */

export interface ArtifactOptions {
  /** Default: by the extension of the name, else `application/octet-stream`. */
  readonly contentType?: string;
}

export type ArtifactContent = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/** A stored artifact. */
export interface KeptArtifact {
  readonly id: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal hash of the stored bytes. */
  readonly sha256: string;
}

export interface ArtifactWriter {
  /**
   * Adds bytes, or text as UTF-8. Resolves when the writer accepts more: await it, because unstored data is in memory.
   * Rejects once the attempt has to stop, and with a non-retryable `JobError` over a quota.
   */
  write(data: string | Uint8Array): Promise<void>;
  /** Stores the rest and makes the artifact visible. */
  end(): Promise<KeptArtifact>;
}

/**
 * Stores artifacts for one attempt, under its lease. Each call rejects with `LeaseLostError` when the lease is lost.
 */
export interface ArtifactStore {
  begin(artifact: { readonly name: string; readonly contentType: string }): Promise<string>;
  /** Chunks are numbered from 0. */
  append(id: string, no: number, bytes: Uint8Array): Promise<void>;
  finish(id: string, whole: { readonly size: number; readonly sha256: Buffer }): Promise<void>;
  /** Deletes unfinished artifacts of the attempt. Does not throw: leftovers are deleted later. */
  discard(ids: readonly string[]): Promise<void>;
}
