import { Skeleton } from "@/components/ui/states";

const ROWS = ["a", "b", "c", "d", "e", "f", "g", "h"];

/** The Jobs page before anything of it is known, in its final sizes. */
export function JobsSkeleton() {
  return (
    <div aria-busy className="flex flex-col gap-4">
      <div className="flex h-8 items-center">
        <h1 className="font-semibold text-xl tracking-tight">Jobs</h1>
      </div>
      <div className="panel h-[6.5rem] max-sm:h-80" />
      <Skeleton className="h-8 w-full max-w-2xl" />
      <div className="panel overflow-hidden">
        <div className="h-9" />
        {ROWS.map((row) => (
          <div key={row} className="flex h-14 items-center gap-8 border-line border-t px-4">
            <Skeleton className="h-5.5 w-20 rounded-full" />
            <Skeleton className="h-4 w-40" />
          </div>
        ))}
      </div>
    </div>
  );
}
