import { useRef } from "react";
import { ApiError } from "../http";
import { randomKey } from "./random-key";

const NONE = { content: "", key: "" };

/**
 * The idempotency keys of a form. The same content keeps its key however often it is sent, so it takes effect once;
 * other content gets another key.
 */
export function useIntentKey() {
  const intent = useRef(NONE);
  const keyFor = (value: unknown): string => {
    const content = JSON.stringify(value);
    if (intent.current.content !== content) intent.current = { content, key: randomKey() };
    return intent.current.key;
  };
  /** Ends the key, so that the same content takes effect again. */
  const forget = () => {
    intent.current = NONE;
  };
  /** Ends the key if the server refused the request, because the refusal is final for the key. */
  const forgetRefused = (error: Error) => {
    if (isRefusal(error)) forget();
  };
  return { keyFor, forget, forgetRefused };
}

/** False if the request may have taken effect: its answer was lost, the server failed, or it is still running. */
const isRefusal = (error: Error): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && error.code !== "idempotency-in-flight";
