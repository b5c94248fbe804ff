/** Who hears of wake-ups: of each one on any channel, and of each (re)connect, when some may have been lost. */
export interface Hearer {
  onNotify(channel: string, payload: string): void;
  onReady(): void;
}

interface Connection {
  close(): Promise<void>;
}

const LINGER_MS = 30_000;

/** One listening connection for all who want it. It opens for the first and closes half a minute after the last. */
export class SharedListener {
  private readonly hearers = new Set<Hearer>();
  private connection: Connection | undefined;
  private idle: NodeJS.Timeout | undefined;
  private ready = false;

  constructor(private readonly open: (hearer: Hearer) => Connection) {}

  /** Tells `hearer` until the function that it returns is called. Who comes while it is connected is told so at once. */
  join(hearer: Hearer): () => void {
    clearTimeout(this.idle);
    this.hearers.add(hearer);
    this.connection ??= this.connect();
    if (this.ready) hearer.onReady();
    return () => this.leave(hearer);
  }

  async close(): Promise<void> {
    clearTimeout(this.idle);
    this.hearers.clear();
    await this.disconnect();
  }

  private connect(): Connection {
    return this.open({
      onNotify: (channel, payload) => {
        for (const hearer of this.hearers) hearer.onNotify(channel, payload);
      },
      onReady: () => {
        this.ready = true;
        for (const hearer of this.hearers) hearer.onReady();
      },
    });
  }

  private leave(hearer: Hearer): void {
    if (!this.hearers.delete(hearer) || this.hearers.size > 0) return;
    this.idle = setTimeout(() => void this.disconnect(), LINGER_MS);
    this.idle.unref();
  }

  private async disconnect(): Promise<void> {
    const connection = this.connection;
    this.connection = undefined;
    this.ready = false;
    await connection?.close();
  }
}
