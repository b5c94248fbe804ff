import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { type Runner, statement } from "@/lib/db";

/** How often a process reports that its build is still served. */
export const PUBLISH_EVERY_MS = 12 * 3_600_000;

const STATIC = "/_next/static/";
const SHAPE = /^\/_next\/static\/[A-Za-z0-9._~/-]{1,280}$/;
const LARGEST_BYTES = 16 * 1024 * 1024;
/** Several times the assets of a build. */
const KEPT_BYTES = 32 * 1024 * 1024;
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".js": "application/javascript; charset=UTF-8",
  ".css": "text/css; charset=UTF-8",
  ".json": "application/json; charset=UTF-8",
  ".map": "application/json; charset=UTF-8",
  ".woff2": "font/woff2",
  ".woff": "font/woff",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
};

// Names contain a hash of the content, so an asset with the same name is the same.
const knownSql = statement(
  "web_assets_known",
  "update app.web_assets set published_at = app.now() where path = any ($1::text[]) returning path",
);
const publishSql = statement(
  "web_assets_publish",
  `insert into app.web_assets (path, media_type, body) values ($1, $2, $3)
   on conflict (path) do update set published_at = app.now()`,
);
const pruneSql = statement(
  "web_assets_prune",
  `delete from app.web_assets where path = any (array(
     select path from app.web_assets where published_at < app.now() - interval '7 days' for update skip locked))`,
);
const findSql = statement("web_assets_find", "select media_type, body from app.web_assets where path = $1");

export interface BuildAsset {
  readonly mediaType: string;
  readonly body: Buffer;
}

/** Returns a build's scripts, styles and fonts: the path that browsers ask for, and the file. */
export async function listBuildAssets(buildFolder: string): Promise<Map<string, string>> {
  const folder = path.join(buildFolder, "static");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [STATIC + path.relative(folder, file).split(path.sep).join("/"), file]));
}

/**
 * Stores a build's assets where the web processes of other builds find them. Deletes assets that no process has
 * published for a week. Processes of the same build may publish at the same time.
 */
export async function publishAssets(db: Runner, assets: ReadonlyMap<string, string>): Promise<void> {
  const known = new Set((await db.run<{ path: string }>(knownSql, [[...assets.keys()]])).map((row) => row.path));
  for (const [name, file] of assets) {
    if (known.has(name) || !SHAPE.test(name)) continue;
    const body = await readFile(file);
    if (body.length > LARGEST_BYTES) continue;
    await db.run(publishSql, [name, MEDIA_TYPES[path.extname(name)] ?? "application/octet-stream", body]);
  }
  await db.run(pruneSql);
}

/**
 * Finds assets that processes of any build published. All requests for an asset share one copy, because a copy for each
 * unread answer would fill the memory. An asset is never stale: its name contains a hash of its content.
 */
export class SharedAssets {
  readonly #db: Runner;
  readonly #kept = new Map<string, BuildAsset>();
  readonly #reading = new Map<string, Promise<BuildAsset | null>>();
  #keptBytes = 0;

  constructor(db: Runner) {
    this.#db = db;
  }

  /** Returns the asset, or null if no process has published it. */
  async find(name: string): Promise<BuildAsset | null> {
    if (!SHAPE.test(name)) return null;
    return this.#kept.get(name) ?? this.#reading.get(name) ?? this.#begin(name);
  }

  #begin(name: string): Promise<BuildAsset | null> {
    const reading = this.#read(name).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #read(name: string): Promise<BuildAsset | null> {
    const [row] = await this.#db.run<{ media_type: string; body: Buffer }>(findSql, [name]);
    if (!row) return null;
    const asset = { mediaType: row.media_type, body: row.body };
    if (this.#keptBytes + asset.body.length > KEPT_BYTES) {
      this.#kept.clear();
      this.#keptBytes = 0;
    }
    this.#kept.set(name, asset);
    this.#keptBytes += asset.body.length;
    return asset;
  }
}
