import { createHash } from "node:crypto";
import { ByteRedactor } from "../output/byte-redactor";
import type { SecretForms } from "../output/secret-forms";
import type { ArtifactStore, ArtifactWriter, KeptArtifact } from "./types";

/** Bytes per chunk. */
const CHUNK_BYTES = 256 * 1024;

interface ChunkedOptions {
  readonly name: string;
  readonly contentType: string;
  readonly store: ArtifactStore;
  readonly secrets: SecretForms;
  /** Throws when the attempt has to stop. */
  check(): void;
  /** Reports that a known secret was masked, or why the artifact is not kept; each once. */
  report(what: string): void;
}

/** Stores one artifact chunk by chunk. After a failure every further call rejects with the same error. */
export class ChunkedArtifact implements ArtifactWriter {
  readonly name: string;
  /** `open` accepts data; `ending` stores the rest. */
  state: "open" | "ending" | "kept" | "failed" = "open";
  readonly #options: ChunkedOptions;
  readonly #redactor: ByteRedactor;
  readonly #hash = createHash("sha256");
  #id: string | undefined;
  #parts: Buffer[] = [];
  #waiting = 0;
  #size = 0;
  #no = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ChunkedOptions) {
    this.#options = options;
    this.name = options.name;
    this.#redactor = new ByteRedactor(options.secrets);
  }

  /** Id of an artifact that was begun and is not kept. */
  get unfinishedId(): string | undefined {
    return this.state === "kept" ? undefined : this.#id;
  }

  write(data: string | Uint8Array): Promise<void> {
    if (this.state !== "open" && this.state !== "failed") return Promise.reject(new Error("the artifact has ended"));
    // Copied, because the caller may reuse its buffer before this piece's turn.
    const bytes = Buffer.from(data as Uint8Array);
    return this.#after(() => this.#take(this.#redactor.push(bytes)));
  }

  end(): Promise<KeptArtifact> {
    if (this.state === "open") this.state = "ending";
    return this.#after(() => this.#finish());
  }

  /** Resolves when all calls so far have ended or failed. */
  async idle(): Promise<void> {
    await this.#last.catch(() => undefined);
  }

  #after<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => {
      this.#options.check();
      return work();
    });
    // Handled even if the caller does not await the call: the failure is reported, and the next call rejects with it.
    turn.catch((error: unknown) => this.#fail(error));
    this.#last = turn;
    return turn;
  }

  #fail(error: unknown): void {
    if (this.state === "failed") return;
    this.state = "failed";
    // Frees memory, because an attempt may fail to keep many files and remembers each.
    this.#parts = [];
    const why = error instanceof Error ? error.message : String(error);
    this.#options.report(`Artifact ${JSON.stringify(this.name)} is not kept: ${why}`);
  }

  async #take(bytes: Buffer): Promise<void> {
    if (bytes.length > 0) this.#parts.push(bytes);
    this.#waiting += bytes.length;
    if (this.#waiting < CHUNK_BYTES) return;
    const whole = Buffer.concat(this.#parts);
    const rest = whole.length % CHUNK_BYTES;
    for (let at = 0; at + CHUNK_BYTES <= whole.length; at += CHUNK_BYTES) {
      await this.#store(whole.subarray(at, at + CHUNK_BYTES));
    }
    this.#parts = rest === 0 ? [] : [Buffer.from(whole.subarray(whole.length - rest))];
    this.#waiting = rest;
  }

  async #store(chunk: Buffer): Promise<void> {
    this.#options.check();
    await this.#options.store.append(await this.#begin(), this.#no, chunk);
    this.#no += 1;
    this.#size += chunk.length;
    this.#hash.update(chunk);
  }

  async #begin(): Promise<string> {
    const { store, name, contentType } = this.#options;
    this.#id ??= await store.begin({ name, contentType });
    return this.#id;
  }

  async #finish(): Promise<KeptArtifact> {
    const { store, name, report } = this.#options;
    await this.#take(this.#redactor.flush());
    const rest = Buffer.concat(this.#parts);
    this.#parts = [];
    if (rest.length > 0) await this.#store(rest);
    const id = await this.#begin();
    const sha256 = this.#hash.digest();
    await store.finish(id, { size: this.#size, sha256 });
    this.state = "kept";
    if (this.#redactor.hasMasked) report(`Artifact ${JSON.stringify(name)} was changed: secrets are masked.`);
    return { id, name, size: this.#size, sha256: sha256.toString("hex") };
  }
}
