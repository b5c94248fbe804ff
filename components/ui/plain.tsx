import { Fragment } from "react";
import { splitHidden } from "@/lib/client/jobs/hidden-characters";

interface PlainProps {
  readonly text: string;
  /** The place has one line only, so newlines are shown as marks as well. */
  readonly oneLine?: boolean;
}

/** Text from outside: what would be invisible or turn the reading direction is shown as a mark instead. */
export function Plain({ text, oneLine }: PlainProps) {
  const parts = splitHidden(text, oneLine);
  return (
    <bdi>
      {parts.map((part, index) =>
        part.hidden ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
          <span key={index} className="hidden-mark" title={`Invisible character ${part.text}`}>
            {part.text}
          </span>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
          <Fragment key={index}>{part.text}</Fragment>
        ),
      )}
    </bdi>
  );
}
