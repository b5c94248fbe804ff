"use client";

import { Dialog, DialogBody } from "@/components/ui/dialog";
import { useShortcutsChoice } from "@/components/ui/use-shortcuts";

const KEYS = [
  ["/", "Go to the filter"],
  ["j  k", "Next and previous job"],
  ["Enter", "Open the job"],
  ["n", "New job"],
  ["r", "Retry the job"],
  ["c", "Cancel the job"],
  ["l", "Output of the job"],
  [".", "Pause or resume live updates"],
  ["?", "This help"],
] as const;

export function KeyboardHelp({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const [choice, choose] = useShortcutsChoice();
  return (
    <Dialog title="Keyboard" description="Shortcuts work unless you type in a field." open={open} onClose={onClose}>
      <DialogBody>
        <dl className="divide-y divide-line border-line border-y">
          {KEYS.map(([keys, meaning]) => (
            <div key={keys} className="flex items-center justify-between gap-4 py-1.5">
              <dt className="order-2">
                <kbd className="rounded-sm border border-line bg-sunken px-1.5 py-0.5 font-mono text-xs">{keys}</kbd>
              </dt>
              <dd className="text-sm">{meaning}</dd>
            </div>
          ))}
        </dl>
        <label className="mt-4 flex min-h-6 items-center gap-2 text-sm">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={choice === "on"}
            onChange={(event) => choose(event.target.checked ? "on" : "off")}
          />
          Single-key shortcuts are on
        </label>
      </DialogBody>
    </Dialog>
  );
}
