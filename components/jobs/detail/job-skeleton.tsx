import { Skeleton } from "@/components/ui/states";

const FACTS = ["a", "b", "c", "d", "e"];

/** The detail page while its job is loading, in its final sizes. */
export function JobSkeleton() {
  return (
    <div aria-busy className="flex flex-col gap-4">
      <h1 className="sr-only">Job</h1>
      <Skeleton className="h-6 w-16" />
      <div className="flex h-13 flex-col gap-2">
        <Skeleton className="h-6 w-48" />
        <Skeleton className="h-3.5 w-72 max-w-full" />
      </div>
      <div className="panel grid grid-cols-2 sm:grid-cols-5">
        {FACTS.map((fact) => (
          <div key={fact} className="px-4 py-2.5">
            <Skeleton className="h-3 w-12" />
            <Skeleton className="mt-2 h-4 w-20" />
          </div>
        ))}
      </div>
      <Skeleton className="h-10 w-full" />
      <div className="panel h-48" />
    </div>
  );
}
