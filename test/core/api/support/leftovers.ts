import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { expect } from "vitest";
import type { Clock } from "../../../../src/core/api/index.ts";

/** A clock that counts its pending timers. */
export function countingClock<T extends Clock>(inner: T): Clock & { readonly pendingTimers: number } {
  const pending = new Set<object>();
  return {
    get pendingTimers() {
      return pending.size;
    },
    now: () => inner.now(),
    setTimer(delayMs, fire, options) {
      const mark = {};
      pending.add(mark);
      const timer = inner.setTimer(
        delayMs,
        () => {
          pending.delete(mark);
          fire();
        },
        options,
      );
      return {
        cancel() {
          pending.delete(mark);
          timer.cancel();
        },
      };
    },
  };
}

/** Watches the open connections of this process's servers, by port, and unhandled rejections. */
export function watchLeftovers() {
  const sockets = new Set<Socket>();
  const unhandled: unknown[] = [];
  const onSocket = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket };
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };
  const onRejection = (reason: unknown) => unhandled.push(reason);
  subscribe("net.server.socket", onSocket);
  process.on("unhandledRejection", onRejection);
  const open = (port: number) => [...sockets].filter((socket) => socket.localPort === port).length;
  return {
    open,
    unhandled,
    stop() {
      unsubscribe("net.server.socket", onSocket);
      process.off("unhandledRejection", onRejection);
    },
    /** Expects nothing left after `client.close()`. Connections that are still closing get some turns of the event loop. */
    async expectNone(port: number, clock: { readonly pendingTimers: number }): Promise<void> {
      for (let turn = 0; turn < 5_000 && (open(port) > 0 || clock.pendingTimers > 0); turn++)
        await new Promise((resolve) => setImmediate(resolve));
      expect({ sockets: open(port), timers: clock.pendingTimers, unhandled }).toEqual({
        sockets: 0,
        timers: 0,
        unhandled: [],
      });
    },
  };
}
