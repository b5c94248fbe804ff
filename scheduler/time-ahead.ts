/**
 * Shares a loop's time among tenants: a tenant whose work took some time waits until others that have work took as
 * much. A tenant that had no work for a while starts level with the others.
 */
export class TimeAhead {
  /** The time charged to each tenant that is ahead of the level. */
  readonly #taken = new Map<string, number>();
  /** The baseline: the time charged to the last tenant before its work. Never falls. */
  #level = 0;

  /**
   * Returns by how much tenants are ahead of the level, in milliseconds. Of the tenants with work, the one least ahead
   * goes next.
   */
  all(): ReadonlyMap<string, number> {
    return new Map([...this.#taken].map(([tenantId, taken]) => [tenantId, taken - this.#level]));
  }

  /** Charges a tenant for work that has ended. */
  took(tenantId: string, ms: number): void {
    this.#level = Math.max(this.#level, this.#taken.get(tenantId) ?? 0);
    this.#taken.set(tenantId, this.#level + ms);
    for (const [id, taken] of this.#taken) if (taken <= this.#level) this.#taken.delete(id);
  }
}
