import type { TenantTransaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import type { FieldProblem } from "../types";
import { type CompiledListener, compileListener } from "./event-match.policy";
import { listenerTextsSql } from "./events.sql";

/** The compiled texts of a trigger, or their problems. */
export type Understood = { readonly listener: CompiledListener } | { readonly problems: readonly FieldProblem[] };

interface TextRow {
  readonly id: string;
  readonly version: number;
  readonly label: string;
  readonly condition: string | null;
  readonly payload_template: unknown;
  readonly dedupe_key_template: string | null;
  readonly dedupe_window_seconds: number;
}

/** Bounds of the cache: triggers, and characters of their templates (about five bytes of memory each). */
const MOST_REMEMBERED = 5000;
const MOST_CHARACTERS = 16 * 1024 * 1024;
/** Characters counted per trigger in addition to its template. */
const OTHER_CHARACTERS = 2000;
/** The number of triggers that one query reads, so that few large ones are in memory at once. */
const READ_TOGETHER = 16;

interface Remembered {
  readonly version: number;
  readonly understood: Understood;
  readonly characters: number;
}

/** The compiled texts of one version of a trigger. */
type OfVersion = Pick<Remembered, "version" | "understood">;

/** Cache of the newest version that was read of each trigger, by id. The one that was read longest ago comes first. */
const remembered = new Map<string, Remembered>();
let characters = 0;

/**
 * Returns the compiled texts of triggers by their ids, in these versions or newer ones. Reads only texts that are not
 * in the cache, and yields the event loop while it compiles them. A trigger that was deleted meanwhile is left out.
 */
export async function understandListeners(
  tx: TenantTransaction,
  rows: readonly { readonly id: string; readonly version: number }[],
): Promise<ReadonlyMap<string, OfVersion>> {
  const found = new Map<string, OfVersion>();
  const unread: string[] = [];
  for (const { id, version } of rows) {
    const known = remembered.get(id);
    if (known?.version === version) found.set(id, known);
    else unread.push(id);
  }
  const turns = new Turns();
  for (let at = 0; at < unread.length; at += READ_TOGETHER) {
    const ids = unread.slice(at, at + READ_TOGETHER);
    for (const row of await tx.run<TextRow>(listenerTextsSql, [tx.tenantId, ids])) {
      await turns.next();
      found.set(row.id, understand(row));
    }
  }
  return found;
}

function understand(row: TextRow): OfVersion {
  const understood = compileListener({
    id: row.id,
    label: row.label,
    condition: row.condition,
    payloadTemplate: row.payload_template,
    dedupeKeyTemplate: row.dedupe_key_template,
    dedupeWindowSeconds: row.dedupe_window_seconds,
  });
  const own = "listener" in understood ? understood.listener.payload.characters : 0;
  const made = { version: row.version, understood, characters: own + OTHER_CHARACTERS };
  forget(row.id);
  remembered.set(row.id, made);
  characters += own + OTHER_CHARACTERS;
  for (const [id] of remembered) {
    if (remembered.size <= MOST_REMEMBERED && characters <= MOST_CHARACTERS) break;
    forget(id);
  }
  return made;
}

function forget(id: string): void {
  characters -= remembered.get(id)?.characters ?? 0;
  remembered.delete(id);
}
