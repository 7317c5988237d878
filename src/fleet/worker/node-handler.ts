import type { IncomingMessage, ServerResponse } from "node:http";
import { sendResponse } from "../../core/kit/http.ts";

export interface BodyLimits {
  /**
   * Maximum size of a body in bytes. It is larger than the limit for webhooks, so that the webhook receiver can refuse
   * large webhooks itself.
   */
  readonly mostBytes: number;
  /**
   * Maximum total size of all bodies in memory. The limit is needed because a sender can be verified only once its
   * whole body has arrived.
   */
  readonly mostBytesHeld: number;
}

const MIB = 1024 * 1024;
export const BODY_LIMITS: BodyLimits = { mostBytes: 16 * MIB, mostBytesHeld: 64 * MIB };
const BODY_MS = 10_000;
/** Delay before the connection of a refused sender is closed, so that the sender can still read the refusal. */
const HANG_UP_AFTER_MS = 1_000;

/**
 * Adapts a Fetch-style handler to Node's server. Responses can be streamed and can contain any bytes. A request's body
 * is read only if the handler reads it, for at most 10 s and up to 16 MiB. If all bodies together exceed 64 MiB, the
 * oldest body of the sender with the most bytes is refused with 503.
 */
export function nodeHandler(
  handle: (request: Request) => Promise<Response>,
): (incoming: IncomingMessage, response: ServerResponse) => Promise<void> {
  return boundedNodeHandler(handle, BODY_LIMITS);
}

export function boundedNodeHandler(
  handle: (request: Request) => Promise<Response>,
  limits: BodyLimits,
): (incoming: IncomingMessage, response: ServerResponse) => Promise<void> {
  const held = new Set<Body>();
  return async (incoming, response) => {
    const body = new Body(incoming, held, limits);
    try {
      const answer = await answerTo(handle, incoming, body, goneOf(response));
      const isUnread = !incoming.complete;
      if (isUnread) response.on("finish", () => letGo(incoming));
      // Frees the body, because the handler has read it and the response may stream for hours.
      if (body.isWhole) body.free();
      await sendResponse(response, answer, isUnread ? CLOSES : {});
    } catch {
      response.destroy();
    } finally {
      body.free();
    }
  };
}

/** Returns a signal that aborts if the client disconnects before it has the whole response. */
function goneOf(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => response.writableFinished || gone.abort());
  return gone.signal;
}

const CLOSES = { connection: "close" };

function letGo(incoming: IncomingMessage): void {
  incoming.resume();
  setTimeout(() => incoming.destroy(), HANG_UP_AFTER_MS).unref();
}

async function answerTo(
  handle: (request: Request) => Promise<Response>,
  { method = "GET", headers, url }: IncomingMessage,
  body: Body,
  signal: AbortSignal,
): Promise<Response> {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  const given = hasBody ? { body: body.stream(), duplex: "half" as const } : {};
  const address = new URL(url ?? "/", "http://localhost");
  const handled = (async () => handle(new Request(address, { method, headers: pairs, signal, ...given })))();
  const answer = await Promise.race([handled.catch(() => refusal(500, "the handler failed; try again")), body.refused]);
  handled.catch(() => {});
  return answer;
}

class Body {
  readonly sender: string;
  bytes = 0;
  isWhole = false;
  readonly #refusal = Promise.withResolvers<Response>();
  readonly #incoming: IncomingMessage;
  readonly #held: Set<Body>;
  readonly #limits: BodyLimits;
  #timer: NodeJS.Timeout | undefined;
  #fail: (error: Error) => void = () => {};

  constructor(incoming: IncomingMessage, held: Set<Body>, limits: BodyLimits) {
    this.sender = incoming.socket.remoteAddress ?? "";
    this.#incoming = incoming;
    this.#held = held;
    this.#limits = limits;
  }

  get refused(): Promise<Response> {
    return this.#refusal.promise;
  }

  stream(): ReadableStream<Uint8Array> {
    this.#held.add(this);
    this.#timer = setTimeout(() => this.#end(refusal(408, "the body took too long to arrive")), BODY_MS).unref();
    const incoming = this.#incoming;
    return new ReadableStream({
      start: (controller) => {
        this.#fail = (error) => controller.error(error);
        incoming.on("data", (piece: Buffer) => {
          if (!this.#take(piece.byteLength)) return;
          controller.enqueue(new Uint8Array(piece));
          if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
        });
        incoming.once("end", () => {
          clearTimeout(this.#timer);
          this.isWhole = true;
          if (this.#held.has(this)) controller.close();
        });
        incoming.once("error", (error) => this.#fail(error));
        incoming.once("close", () => incoming.complete || this.#fail(new Error("The request was interrupted.")));
        incoming.pause();
      },
      pull: () => void incoming.resume(),
      // A cancelled stream accepts no more data.
      cancel: () => this.#leave(),
    });
  }

  free(): void {
    clearTimeout(this.#timer);
    this.#held.delete(this);
  }

  #take(bytes: number): boolean {
    const { mostBytes, mostBytesHeld } = this.#limits;
    this.bytes += bytes;
    if (this.bytes > mostBytes) this.#end(refusal(413, "the body is too large"));
    else
      while (sumOf(this.#held) > mostBytesHeld) oldestOfGreediest(this.#held).#end(refusal(503, "too many requests"));
    return this.#held.has(this);
  }

  #leave(): void {
    this.free();
    this.#incoming.pause().removeAllListeners("data");
  }

  #end(answer: Response): void {
    this.#leave();
    this.#fail(new Error("The request was refused."));
    this.#refusal.resolve(answer);
  }
}

function sumOf(bodies: Iterable<Body>): number {
  let sum = 0;
  for (const { bytes } of bodies) sum += bytes;
  return sum;
}

/** Returns the oldest incomplete body of the sender with the most bytes. `held` is in order of arrival. */
function oldestOfGreediest(held: ReadonlySet<Body>): Body {
  const coming = [...held].filter(({ isWhole }) => !isWhole);
  const bySender = [...Map.groupBy(coming, ({ sender }) => sender).values()];
  const [greediest = []] = bySender.sort((a, b) => sumOf(b) - sumOf(a));
  return greediest[0]!;
}

function refusal(status: number, text: string): Response {
  return new Response(`${text}\n`, { status });
}
