import type { IncomingMessage, ServerResponse } from "node:http";
import type { DeviceSettings } from "@/lib/auth/device";
import { loginPath } from "@/lib/auth/login-path";
import { sentSessionId } from "@/lib/auth/session";
import { isFile, needsSession, OpenPages } from "./open-pages";
import { PageTurns } from "./page-turns";
import type { NextHandler } from "./render-page";
import type { BuildAsset } from "./shared-assets";

export interface PageRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly path: string;
  readonly next: NextHandler;
  /** See `FrontOptions`. */
  readonly findAsset: ((path: string) => Promise<BuildAsset | null>) | undefined;
}

/**
 * Answers requests for pages and their files. Rendering costs a hundred times as much as any other answer, and
 * anonymous callers can ask for pages. So a request without a session gets a cached page or a redirect to the login,
 * and a page that has to be rendered waits for its turn.
 */
export class PageFront {
  readonly #openPages = new OpenPages();
  readonly #turns: PageTurns;
  readonly #settings: () => DeviceSettings;

  constructor(settings: () => DeviceSettings) {
    this.#settings = settings;
    this.#turns = new PageTurns(settings);
  }

  /** Answers one request. Rejects when the framework fails. */
  answer({ req, res, path, next, findAsset }: PageRequest): Promise<void> {
    if (isFile(path)) return answerFile({ req, res, path, next, findAsset });
    const hasSession = sentSessionId(req.headers.cookie ?? null, this.#settings().origin) !== null;
    const inTurn: NextHandler = (request, response) => this.#turns.render(request, response, next);
    const openPage = this.#openPages.keyOf(path, hasSession);
    if (openPage !== null) return this.#openPages.answer(openPage, { req, res, next: inTurn });
    if (hasSession || !needsSession(path)) return inTurn(req, res);
    res.writeHead(307, { location: loginPath(path), "content-length": 0, "cache-control": "private, no-store" }).end();
    return Promise.resolve();
  }
}

/** Serves scripts and styles of other builds; the framework serves its own. */
async function answerFile({ req, res, path, next, findAsset }: PageRequest): Promise<void> {
  const asset = await findAsset?.(path);
  if (!asset) return next(req, res);
  res.writeHead(200, {
    "content-type": asset.mediaType,
    "content-length": asset.body.length,
    "cache-control": "public, max-age=31536000, immutable",
  });
  res.end(req.method === "HEAD" ? undefined : asset.body);
}
