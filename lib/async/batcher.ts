/*
 * Asynchronous building blocks that know nothing of the product: batches, bisection of a failed batch, deadlines, work
 * that can be abandoned, bounded maps and counted slots. Each file is one block.
 *
 * Start with `Batcher` below.
 */

import { setTimeout } from "node:timers/promises";

export interface BatcherOptions {
  /** Items of a batch. */
  readonly most: number;
  /** Least milliseconds between the starts of two batches, as small batches cost most. A full batch does not wait. */
  readonly apartMs?: number;
  /** Total weight of a batch. A heavier item goes alone. */
  readonly mostWeight?: number;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer | PromiseLike<Answer>) => void;
  readonly reject: (error: unknown) => void;
  /** Computed once, when the batch is put together. */
  weight?: number;
}

/**
 * Joins single calls into batches, in their order. One batch is in flight at a time; later calls form the next one.
 *
 * Each call resolves with its own answer. If `send` rejects, all calls of that batch reject with its error. The next
 * batch is still sent.
 */
export class Batcher<Item, Answer> {
  private waiting: Waiting<Item, Answer>[] = [];
  private running = false;
  private sentAt = Number.NEGATIVE_INFINITY;

  /**
   * @param send returns one answer per item, in the order of the items. An answer may be a promise: the next batch does
   * not wait for it.
   */
  constructor(
    private readonly send: (items: readonly Item[]) => Promise<readonly (Answer | PromiseLike<Answer>)[]>,
    private readonly options: BatcherOptions,
    private readonly weigh: (item: Item) => number = () => 0,
  ) {}

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.running) {
        this.running = true;
        // Items added in the same turn of the event loop belong to the first batch.
        setImmediate(() => void this.run());
      }
    });
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      await this.keepApart();
      const batch = this.waiting.splice(0, this.next().size);
      this.sentAt = performance.now();
      try {
        const answers = await this.send(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => {
          resolve(answers[index] as Answer);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.running = false;
  }

  private async keepApart(): Promise<void> {
    const { apartMs = 0 } = this.options;
    const early = this.sentAt + apartMs - performance.now();
    if (early >= 1 && !this.next().isFull) await setTimeout(early);
  }

  private next(): { readonly size: number; readonly isFull: boolean } {
    const { most, mostWeight = Number.POSITIVE_INFINITY } = this.options;
    let [size, sum] = [0, 0];
    for (const one of this.waiting) {
      if (size === most) break;
      one.weight ??= this.weigh(one.item);
      sum += one.weight;
      if (sum > mostWeight && size > 0) return { size, isFull: true };
      size += 1;
    }
    return { size, isFull: size === most || sum >= mostWeight };
  }
}
