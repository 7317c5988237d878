import type { Dispatcher } from "undici";
import type { Clock } from "../core/api/index.ts";
import type { JournalStore } from "../index.ts";

type Controller = Dispatcher.DispatchController;

/**
 * A position in a run: the nth time that the run reaches the boundary `point`. Unlike a count of all boundaries, this
 * is the same position in every run of the pipeline.
 */
export interface Moment {
  readonly point: string;
  readonly nth: number;
}

export class CrashInjector {
  count = 0;
  readonly points: string[] = [];
  readonly #dieAt: number | Moment;
  readonly #requests = new Requests();
  readonly #death = Promise.withResolvers<void>();
  readonly died = this.#death.promise;
  #isDead = false;

  constructor(dieAt: number | Moment) {
    this.#dieAt = dieAt;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  readonly boundary = async (point: string): Promise<void> => {
    if (!this.#isDead) this.points.push(point);
    this.count += 1;
    if (!this.#isDead && !this.#isDue(point)) return;
    this.#isDead = true;
    this.#requests.hangUp();
    this.#death.resolve();
    await new Promise<never>(() => {});
  };

  #isDue(point: string): boolean {
    if (typeof this.#dieAt === "number") return this.count >= this.#dieAt;
    return point === this.#dieAt.point && timesOf(this.points, point) >= this.#dieAt.nth;
  }

  store(inner: JournalStore): JournalStore {
    const { boundary } = this;
    return new Proxy(inner, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
        if (typeof method !== "function") return method;
        if (name === "takeLease") {
          // The test killed the previous holder.
          return (runId: string, holder: never, options: object) =>
            target.takeLease(runId, holder, { ...options, isDead: () => true } as never);
        }
        if (name !== "commit" && name !== "createRun") return method.bind(target);
        return async (...args: unknown[]) => {
          await boundary(`${name}: before`);
          const result = await method.apply(target, args);
          await boundary(`${name}: after`);
          return result;
        };
      },
    });
  }

  dispatcher(inner: Dispatcher): Dispatcher {
    return inner.compose((dispatch) => (options, handler) => {
      const { method } = options;
      const name = `${method} ${pathOf(String(options.path))}`;
      const call = this.#requests.add(method);
      const send = async () => {
        await this.boundary(`${name}: before it is sent`);
        call.leaves();
        dispatch(options, this.#watched(handler, call, name));
      };
      send().catch((error: Error) => handler.onResponseError?.(call.controller as Controller, error));
      return true;
    });
  }

  clock(inner: Clock): Clock {
    return {
      now: () => inner.now(),
      setTimer: (delayMs, fire, options) => inner.setTimer(delayMs, () => this.#isDead || fire(), options),
    };
  }

  /**
   * Waits until all requests except streams have ended. By then, the service has received every write that a killed
   * process sent.
   */
  requestsSettled(): Promise<void> {
    return this.#requests.settled();
  }

  #watched(handler: Dispatcher.DispatchHandler, call: Call, name: string): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (controller, context) => {
        call.starts(controller);
        if (this.#isDead) this.#requests.hangUp();
        else handler.onRequestStart?.(controller, context);
      },
      onResponseStart: (controller, status, headers, message) => {
        if (String(headers["content-type"]).startsWith("text/event-stream")) call.streams();
        if (!this.#isDead) handler.onResponseStart?.(controller, status, headers, message);
      },
      onResponseData: (controller, chunk) => {
        if (!this.#isDead) handler.onResponseData?.(controller, chunk);
      },
      onResponseEnd: (controller, trailers) => {
        call.ends();
        void this.boundary(`${name}: answered`).then(() => handler.onResponseEnd?.(controller, trailers));
      },
      onResponseError: (controller, error) => {
        call.ends();
        if (!this.#isDead) handler.onResponseError?.(controller, error);
      },
    };
  }
}

export function timesOf(points: readonly string[], point: string): number {
  return points.filter((passed) => passed === point).length;
}

interface Call {
  readonly controller: Controller | null;
  leaves(): void;
  starts(controller: Controller): void;
  streams(): void;
  ends(): void;
}

class Requests {
  readonly #open = new Map<Call, { readonly method: string; controller: Controller | null }>();
  readonly #streams = new Set<Call>();
  readonly #waiting: (() => void)[] = [];

  add(method: string): Call {
    const state = { method, controller: null as Controller | null };
    const call: Call = {
      get controller() {
        return state.controller;
      },
      leaves: () => void this.#open.set(call, state),
      starts: (controller) => {
        state.controller = controller;
      },
      streams: () => {
        this.#streams.add(call);
        this.#look();
      },
      ends: () => {
        this.#open.delete(call);
        this.#streams.delete(call);
        this.#look();
      },
    };
    return call;
  }

  /** Aborts open reads, as if the process had died. Writes still reach the service. */
  hangUp(): void {
    for (const { method, controller } of this.#open.values()) {
      if (method === "GET") controller?.abort(new Error("the process was killed"));
    }
  }

  async settled(): Promise<void> {
    if (this.#open.size > this.#streams.size) await new Promise<void>((go) => this.#waiting.push(go));
  }

  #look(): void {
    if (this.#open.size === this.#streams.size) for (const go of this.#waiting.splice(0)) go();
  }
}

function pathOf(path: string): string {
  return path
    .replace(/\?.*$/, "")
    .replace(/\/(job|asset|file)_[^/]+/g, "/$1_…")
    .replace(/^\/v3/, "");
}
