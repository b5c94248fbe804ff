"use client";

import { CalendarClock, Moon, Radio } from "lucide-react";
import { Link } from "@/components/ui/link";
import { Empty } from "@/components/ui/states";
import { useTenant } from "../shell/viewer";

const TEMPLATES = [
  { name: "nightly", icon: Moon, title: "Every night", text: "A schedule: each day at two in the morning." },
  { name: "event", icon: Radio, title: "On an event", text: "Whenever provider.folder.updated is published." },
] as const;

/** For a tenant without triggers: what a trigger is, and two templates. */
export function FirstTrigger() {
  const { slug } = useTenant();
  return (
    <Empty icon={CalendarClock} title="No triggers yet">
      <p>
        A trigger starts jobs on a schedule or for each event with a given name. Its page lists the jobs it started and
        the runs it skipped, with the reason.
      </p>
      <ul className="grid w-full gap-3 text-left sm:grid-cols-2">
        {TEMPLATES.map(({ name, icon: Icon, title, text }) => (
          <li key={name} className="flex">
            <Link
              href={`/t/${slug}/jobs/triggers/new?template=${name}`}
              className="flex flex-1 gap-3 rounded-md border border-line p-3 hover:bg-hover"
            >
              <Icon aria-hidden className="mt-0.5 size-4 shrink-0 text-accent" />
              <span>
                <span className="block font-medium text-ink">{title}</span>
                {text}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Empty>
  );
}
