import { setTimeout } from "node:timers/promises";

export interface BatcherOptions {
  /** Of a batch. */
  readonly most: number;
  /** After a batch, the next one goes out this much later at the earliest, unless it is full: small ones cost most. */
  readonly apartMs?: number;
}

/**
 * Joins single calls into batches: the first goes out at once, those that come while it is under way go together in the
 * next one. Each call gets its own answer.
 */
export class Batcher<Item, Answer> {
  private waiting: {
    item: Item;
    resolve: (answer: Answer | PromiseLike<Answer>) => void;
    reject: (error: unknown) => void;
  }[] = [];
  private running = false;
  private sentAt = Number.NEGATIVE_INFINITY;

  /** @param send answers the items in their order; an answer that is still to come holds up no later batch */
  constructor(
    private readonly send: (items: readonly Item[]) => Promise<readonly (Answer | PromiseLike<Answer>)[]>,
    private readonly options: BatcherOptions,
  ) {}

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.running) {
        this.running = true;
        // What is added in the same turn of the event loop still belongs to the first batch.
        setImmediate(() => void this.run());
      }
    });
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      await this.keepApart();
      const batch = this.waiting.splice(0, this.options.most);
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
    const { apartMs = 0, most } = this.options;
    const early = this.sentAt + apartMs - performance.now();
    if (early >= 1 && this.waiting.length < most) await setTimeout(early);
  }
}
