import type { Database } from "@/lib/db";
import { whenDone } from "../when-done";

/** Borrows a connection of the pool until the test ends. Resolves with the function that returns it earlier. */
export function borrow(db: Database): Promise<() => Promise<void>> {
  return new Promise((resolve, reject) => {
    const borrowed = db.transaction(
      () =>
        new Promise<void>((end) => {
          const giveBack = () => {
            end();
            return borrowed;
          };
          whenDone(giveBack);
          resolve(giveBack);
        }),
    );
    borrowed.catch(reject);
  });
}
