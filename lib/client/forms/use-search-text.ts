import { useEffect, useEffectEvent, useState } from "react";

const TYPING_PAUSE_MS = 250;

/**
 * The text of a search field that filters while the user types. `onSearch` receives the trimmed text after a pause. The
 * field follows a `value` that changes elsewhere.
 */
export function useSearchText(value: string, onSearch: (text: string) => void) {
  const [text, setText] = useState(value);
  const [known, setKnown] = useState(value);
  if (value !== known) {
    setKnown(value);
    if (value !== text.trim()) setText(value);
  }
  const search = useEffectEvent(onSearch);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === value) return;
    const timer = setTimeout(() => search(wanted), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return [text, setText] as const;
}
