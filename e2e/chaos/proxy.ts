import { createConnection, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface FaultyLine {
  readonly url: string;
  /** Ends every connection at once, with a reset. */
  cut(): void;
  /** Blocks all traffic until called with false; then the held packets arrive. */
  hole(on: boolean): void;
  /** Blocks the connections on which a client sends this text, until called with null. */
  hold(text: string | null): void;
  /** Delays each packet by this long. */
  delay(ms: number): void;
  /**
   * Resets the next connection on which a client sends this text: before the server has received it, or after the
   * server has answered and before the client gets the answer. Resolves when that has happened.
   */
  resetAt(text: string, when: "before" | "after"): Promise<void>;
  close(): Promise<void>;
}

interface Trap {
  readonly text: string;
  readonly when: "before" | "after";
  readonly sprung: () => void;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** The answer to the next packet of this connection must not arrive. */
  doomed: Trap | null;
  isHeld: boolean;
}

/** Opens a TCP proxy with faults in front of a database. The URL keeps everything else of the given one. */
export async function openProxy(target: string): Promise<FaultyLine> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<Pair>();
  const state: { hole: boolean; held: string | null; delayMs: number; trap: Trap | null } = {
    hole: false,
    held: null,
    delayMs: 0,
    trap: null,
  };

  const reset = (pair: Pair) => {
    pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.server.resetAndDestroy();
  };
  const spring = (pair: Pair, trap: Trap) => {
    reset(pair);
    trap.sprung();
  };
  const pass = async (pair: Pair, to: Socket, data: Buffer) => {
    if (state.delayMs > 0) await sleep(state.delayMs);
    while ((state.hole || (pair.isHeld && state.held !== null)) && pairs.has(pair)) await sleep(20);
    if (pairs.has(pair)) to.write(data);
  };

  const listener = createServer((client) => {
    const pair: Pair = {
      client,
      server: createConnection({ host: hostname, port: Number(port) }),
      doomed: null,
      isHeld: false,
    };
    pairs.add(pair);
    // Each direction keeps its order, even while packets are held.
    let [toServer, toClient] = [Promise.resolve(), Promise.resolve()];
    client.on("data", (data) => {
      if (state.held !== null && data.includes(state.held)) pair.isHeld = true;
      const trap = state.trap;
      if (trap && data.includes(trap.text)) {
        state.trap = null;
        if (trap.when === "before") return spring(pair, trap);
        pair.doomed = trap;
      }
      toServer = toServer.then(() => pass(pair, pair.server, data));
    });
    pair.server.on("data", (data) => {
      if (pair.doomed) return spring(pair, pair.doomed);
      toClient = toClient.then(() => pass(pair, client, data));
    });
    for (const socket of [client, pair.server]) {
      socket.on("error", () => {});
      socket.on("close", () => {
        pairs.delete(pair);
        client.destroy();
        pair.server.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const url = new URL(target);
  url.port = String((listener.address() as { port: number }).port);
  return {
    url: url.href,
    cut: () => [...pairs].forEach(reset),
    hole: (on) => {
      state.hole = on;
    },
    hold: (text) => {
      state.held = text;
    },
    delay: (ms) => {
      state.delayMs = ms;
    },
    resetAt: (text, when) =>
      new Promise((sprung) => {
        state.trap = { text, when, sprung };
      }),
    close: async () => {
      [...pairs].forEach(reset);
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
