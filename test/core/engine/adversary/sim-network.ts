import { Readable } from "node:stream";
import { Dispatcher } from "undici";
import { halfTrue } from "./half-truths.ts";
import { MEDIA_ORIGIN, type SimRequest } from "./paid-service.ts";
import type { SimAnswer } from "./sim-answer.ts";
import { badAnswer, type Trouble } from "./troubles.ts";

/** The connection between a process and the service. */
export interface Wire {
  /** Called before a request is sent and after the service has processed it; never settles in a dead process. */
  boundary(point: string): Promise<void>;
  /** The trouble of this request, or null. */
  trouble(request: SimRequest): Trouble | null;
  /** Lets the service process the request, whatever the client receives in its trouble. */
  perform(request: SimRequest, trouble: Trouble | null): SimAnswer;
  sleep(ms: number): Promise<void>;
  /** Ids of the jobs in the run's journal. */
  jobIds(): readonly string[];
  /** The date of the service's clock. */
  date(): string;
}

type Handler = Dispatcher.DispatchHandler;

/** Answers the client's requests in memory, without a network. */
export class SimDispatcher extends Dispatcher {
  readonly #wire: Wire;

  constructor(wire: Wire) {
    super();
    this.#wire = wire;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    void this.#exchange(options, handler);
    return true;
  }

  async #exchange(options: Dispatcher.DispatchOptions, handler: Handler): Promise<void> {
    const controller = new Controller(handler);
    const request = requestOf(options);
    if (options.body instanceof Readable) options.body.destroy();
    const wire = this.#wire;
    await wire.boundary(`${request.method} ${request.path}: before`);
    const trouble = wire.trouble(request);
    if (trouble?.kind === "unreachable") return controller.fail(new Error("ECONNREFUSED"));
    handler.onRequestStart?.(controller, {});
    if (controller.aborted) return;
    const isServed = trouble === null || !("effect" in trouble) || trouble.effect;
    const honest = isServed ? wire.perform(request, trouble) : null;
    await wire.boundary(`${request.method} ${request.path}: after`);
    if (trouble === null) return controller.answer(honest!, wire.date());
    switch (trouble.kind) {
      case "late":
        await wire.sleep(trouble.ms);
        return controller.answer(honest!, wire.date());
      case "reset":
        return controller.fail(new Error("ECONNRESET"));
      case "silence":
        return;
      case "half an answer":
        return controller.half(honest ?? badGateway, wire.date());
      case "lie":
        return controller.answer(honest!, wire.date());
      case "half truth":
        return controller.answer(halfTrue(trouble.says, honest!, wire.jobIds()), wire.date());
      case "answer":
        return controller.answer(badAnswer(trouble), wire.date());
      default:
        trouble satisfies never;
    }
  }
}

const badGateway: SimAnswer = { status: 502, headers: { "content-type": "text/html" }, body: "<html>no</html>" };

class Controller implements Dispatcher.DispatchController {
  aborted = false;
  paused = false;
  reason: Error | null = null;
  readonly #handler: Handler;
  #over = false;

  constructor(handler: Handler) {
    this.#handler = handler;
  }

  abort(reason: Error): void {
    this.aborted = true;
    this.reason = reason;
    this.fail(reason);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  fail(cause: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#handler.onResponseError?.(this, cause);
  }

  answer({ status, headers, body }: SimAnswer, date: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#handler.onResponseStart?.(this, status, { ...headers, date }, "");
    if (body !== "") this.#handler.onResponseData?.(this, Buffer.from(body, "latin1"));
    this.#handler.onResponseEnd?.(this, {});
  }

  half({ status, headers, body }: SimAnswer, date: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#handler.onResponseStart?.(this, status, { ...headers, date }, "");
    this.#handler.onResponseData?.(this, Buffer.from(body.slice(0, body.length >> 1), "latin1"));
    this.#handler.onResponseError?.(this, new Error("the connection broke off"));
  }
}

function requestOf({ origin, path, method, headers, body }: Dispatcher.DispatchOptions): SimRequest {
  const plain = path.split("?")[0]!;
  const isMedia = String(origin) === MEDIA_ORIGIN;
  const sent = (headers ?? {}) as Readonly<Record<string, string>>;
  return {
    method,
    path: isMedia ? plain : plain.replace(/^\/v3/, ""),
    body: typeof body === "string" ? JSON.parse(body) : null,
    authorization: sent.authorization ?? null,
  };
}
