/**
 * Stride scheduling over a tree: the contender with the least usage for its weight is next. Reads no clock; randomness
 * is passed in.
 */

type Key = string | number;

/** One round of choosing; `random` breaks ties. */
export interface Round {
  readonly no: number;
  readonly random: () => number;
}

/** One contender among the children of its parent. `L` is the payload of a leaf. */
export class Contender<L> {
  leaf: L | undefined;
  weight = 1;
  /** The pass after everything planned so far has been served. */
  planned = 0;
  tie = 0;
  /** The usage divided by the weight. */
  private pass = 0;
  private round = Number.NaN;
  private stayed = false;
  private readonly children = new Map<Key, Contender<L>>();
  private present: Contender<L>[] = [];

  /** The children that compete in this round. */
  get competing(): readonly Contender<L>[] {
    return this.present;
  }

  child(key: Key): Contender<L> | undefined {
    return this.children.get(key);
  }

  /** Empties the list of competing children before a round begins. */
  clear(): void {
    this.present = [];
  }

  /** Enters a child in a round, once per round. */
  enter(key: Key, weight: number, { no, random }: Round): Contender<L> {
    const child = this.children.get(key) ?? new Contender<L>();
    if (child.round === no) return child;
    this.children.set(key, child);
    child.stayed = child.round === no - 1;
    child.round = no;
    child.weight = weight;
    child.tie = random();
    child.present = [];
    this.present.push(child);
    return child;
  }

  /**
   * Starts the round after all children have entered, here and below.
   * A child that was absent returns at the smallest pass of the children that stayed, or at its own if that is larger.
   * So idle time earns no credit, and leaving pays off no debt.
   */
  begin(round: number): void {
    const stayed = this.present.filter((child) => child.stayed);
    const known = this.present.filter((child) => child.pass > 0);
    const measure = stayed.length > 0 ? stayed : known;
    const least = measure.reduce((min, child) => Math.min(min, child.pass), Number.POSITIVE_INFINITY);
    for (const child of this.present) {
      if (!child.stayed && least < Number.POSITIVE_INFINITY) child.pass = Math.max(child.pass, least);
      child.planned = child.pass;
      child.begin(round);
    }
    if (this.children.size > this.present.length) this.forget(round, least);
  }

  serve(cost: number): void {
    this.pass += cost / this.weight;
  }

  plan(): void {
    this.planned += 1 / this.weight;
  }

  /** The competing child that is due next. */
  next(): Contender<L> | undefined {
    return this.present.reduce<Contender<L> | undefined>(
      (first, child) => (first === undefined || isBefore(child, first) ? child : first),
      undefined,
    );
  }

  // An absent child without debt is equal to a new one, so it can be dropped.
  private forget(round: number, least: number): void {
    for (const [key, child] of this.children) {
      if (child.round !== round && child.pass <= least) this.children.delete(key);
    }
  }
}

const isBefore = <L>(left: Contender<L>, right: Contender<L>): boolean =>
  left.planned < right.planned || (left.planned === right.planned && left.tie < right.tie);

/** A binary heap of contenders, ordered by their planned pass. */
export class InTurn<L> {
  private readonly heap: Contender<L>[] = [];

  constructor(contenders: Iterable<Contender<L>>) {
    for (const contender of contenders) this.add(contender);
  }

  add(contender: Contender<L>): void {
    const { heap } = this;
    let at = heap.push(contender) - 1;
    for (let up = (at - 1) >> 1; at > 0 && this.swapIfBefore(at, up); up = (at - 1) >> 1) at = up;
  }

  /** Removes and returns the contender that is due next. */
  take(): Contender<L> | undefined {
    const { heap } = this;
    const [first] = heap;
    const last = heap.pop();
    if (last === undefined || last === first) return first;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const [a, b] = [heap[left], heap[right]];
      const least = a && b && isBefore(b, a) ? right : left;
      if (!this.swapIfBefore(least, at)) return first;
      at = least;
    }
  }

  private swapIfBefore(one: number, other: number): boolean {
    const [a, b] = [this.heap[one], this.heap[other]];
    if (!a || !b || !isBefore(a, b)) return false;
    this.heap[one] = b;
    this.heap[other] = a;
    return true;
  }
}
