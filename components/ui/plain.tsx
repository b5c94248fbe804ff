import { Fragment } from "react";
import { splitHidden } from "@/lib/client/jobs/hidden-characters";

interface PlainProps {
  readonly text: string;
  /** For places with one line only: newlines are shown as marks too. */
  readonly oneLine?: boolean;
}

/** Text from users or programs. Characters that are invisible or change the reading direction are shown as marks. */
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
