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

  /** @param send answers the items in their order; an answer that is still to come holds up no later batch */
  constructor(
    private readonly send: (items: readonly Item[]) => Promise<readonly (Answer | PromiseLike<Answer>)[]>,
    private readonly most: number,
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
      const batch = this.waiting.splice(0, this.most);
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
}
