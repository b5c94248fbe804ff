// Messages of a command to the worker: one JSON object per line on descriptor 3.
import { Buffer } from "node:buffer";
import { writeSync } from "node:fs";

const FRAMES_FD = 3;
const FLUSH_CHARS = 48 * 1024;
const PROGRESS_EVERY_MS = 500;

let pending = "";
let lastProgress = 0;
/** The newest progress, if it came too soon to be sent. @type {object | null} */
let unsentProgress = null;

/** @param {unknown} value */
export function sayRow(value) {
  say({ type: "row", value });
}

/**
 * Sends the newest progress before the result, so that a finished job shows its last figures.
 * @param {unknown} value
 */
export function sayResult(value) {
  if (unsentProgress) say(unsentProgress);
  say({ type: "result", value });
  flush();
}

/**
 * Sends progress at most twice a second; calls in between replace each other.
 * @param {number} done
 * @param {number} total
 * @param {string} message
 */
export function sayProgress(done, total, message) {
  const now = performance.now();
  const percent = total === 0 ? 0 : Math.min(100, Math.floor((100 * done) / total));
  unsentProgress = { type: "progress", percent, message };
  if (now - lastProgress < PROGRESS_EVERY_MS) return;
  lastProgress = now;
  say(unsentProgress);
  unsentProgress = null;
  flush();
}

/** @param {object} frame */
function say(frame) {
  pending += `${JSON.stringify(frame)}\n`;
  if (pending.length >= FLUSH_CHARS) flush();
}

function flush() {
  writeAll(FRAMES_FD, Buffer.from(pending));
  pending = "";
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes everything, and waits while the reader is slow.
 * @param {number} fd
 * @param {Buffer} bytes
 */
export function writeAll(fd, bytes) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EAGAIN") throw error;
      Atomics.wait(sleeper, 0, 0, 5);
    }
  }
}
