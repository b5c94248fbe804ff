import { useRef } from "react";
import { randomKey } from "./random-key";

const NONE = { content: "", key: "" };

/**
 * The idempotency keys of a form. The same content keeps its key however often it is sent, so it takes effect once;
 * other content gets another key. `forget` ends a key, for example after a refusal, which is final for it.
 */
export function useIntentKey() {
  const intent = useRef(NONE);
  const keyFor = (value: unknown): string => {
    const content = JSON.stringify(value);
    if (intent.current.content !== content) intent.current = { content, key: randomKey() };
    return intent.current.key;
  };
  const forget = () => {
    intent.current = NONE;
  };
  return { keyFor, forget };
}
