import type { Dispatcher } from "undici";
import type { Clock } from "../core/api/index.ts";
import type { JournalStore } from "../index.ts";

type Controller = Dispatcher.DispatchController;

/**
 * A position in a run: the nth time that the run reaches `point`. This is the same position in every run of the
 * pipeline.
 */
export interface Moment {
  readonly point: string;
  readonly nth: number;
}

interface Call {
  readonly method: string;
  controller: Controller | null;
  isStream: boolean;
}

export class CrashInjector {
  count = 0;
  readonly points: string[] = [];
  readonly #dieAt: number | Moment;
  readonly #openCalls = new Set<Call>();
  readonly #waiting: (() => void)[] = [];
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
    this.#hangUp();
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
      const call: Call = { method, controller: null, isStream: false };
      const send = async () => {
        await this.boundary(`${name}: before it is sent`);
        this.#openCalls.add(call);
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
  async requestsSettled(): Promise<void> {
    if (this.#isBusy()) await new Promise<void>((go) => this.#waiting.push(go));
  }

  #isBusy(): boolean {
    return [...this.#openCalls].some(({ isStream }) => !isStream);
  }

  #look(): void {
    if (!this.#isBusy()) for (const go of this.#waiting.splice(0)) go();
  }

  #end(call: Call): void {
    this.#openCalls.delete(call);
    this.#look();
  }

  /** Aborts open reads, as if the process had died. Writes still reach the service. */
  #hangUp(): void {
    for (const { method, controller } of this.#openCalls) {
      if (method === "GET") controller?.abort(new Error("the process was killed"));
    }
  }

  #watched(handler: Dispatcher.DispatchHandler, call: Call, name: string): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (controller, context) => {
        call.controller = controller;
        if (this.#isDead) this.#hangUp();
        else handler.onRequestStart?.(controller, context);
      },
      onResponseStart: (controller, status, headers, message) => {
        call.isStream = String(headers["content-type"]).startsWith("text/event-stream");
        this.#look();
        if (!this.#isDead) handler.onResponseStart?.(controller, status, headers, message);
      },
      onResponseData: (controller, chunk) => {
        if (!this.#isDead) handler.onResponseData?.(controller, chunk);
      },
      onResponseEnd: (controller, trailers) => {
        this.#end(call);
        void this.boundary(`${name}: answered`).then(() => handler.onResponseEnd?.(controller, trailers));
      },
      onResponseError: (controller, error) => {
        this.#end(call);
        if (!this.#isDead) handler.onResponseError?.(controller, error);
      },
    };
  }
}

export function timesOf(points: readonly string[], point: string): number {
  return points.filter((passed) => passed === point).length;
}

function pathOf(path: string): string {
  return path
    .replace(/\?.*$/, "")
    .replace(/\/(job|asset|file)_[^/]+/g, "/$1_…")
    .replace(/^\/v3/, "");
}
