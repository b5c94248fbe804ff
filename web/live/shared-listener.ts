/** Receives every wake-up on any channel, and every (re)connect, when wake-ups may have been lost. */
export interface Hearer {
  onNotify(channel: string, payload: string): void;
  onReady(): void;
}

interface Connection {
  close(): Promise<void>;
}

const LINGER_MS = 30_000;

/**
 * One listening connection, shared. It opens for the first listener and closes half a minute after the last one left.
 */
export class SharedListener {
  private readonly hearers = new Set<Hearer>();
  private connection: Connection | undefined;
  private idle: NodeJS.Timeout | undefined;
  private ready = false;

  constructor(private readonly open: (hearer: Hearer) => Connection) {}

  /** Notifies `hearer` until the returned function is called. While connected, `onReady` is called at once. */
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
