import type { IncomingMessage } from "node:http";
import { badRequest, Refusal } from "./refusal.ts";

/** A sender that trickles would hold its request, and the memory for it, for ever; as long as Node's own server waits. */
export const LONGEST_BODY_MS = 5 * 60_000;

/** The body of a request, however its server names it. */
export interface SentBody {
  readonly contentType: string;
  /** As its head says; 0 where it does not. */
  readonly declaredBytes: number;
  readonly bytes: ReadableStream<Uint8Array> | null;
}

export function bodyOfRequest({ headers, body }: Request): SentBody {
  return {
    contentType: headers.get("Content-Type") ?? "",
    declaredBytes: Number(headers.get("Content-Length") ?? 0),
    bytes: body,
  };
}

/** Who stops reading it can still answer: the connection stays open. */
export function bodyOfMessage(incoming: IncomingMessage): SentBody {
  const pieces = incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  const bytes = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void incoming.pause(),
    },
    { highWaterMark: 0 },
  );
  const { headers } = incoming;
  return {
    contentType: headers["content-type"] ?? "",
    declaredBytes: Number(headers["content-length"] ?? 0),
    bytes,
  };
}

/** `instead`: what is to be done about a body that is too large. */
export interface BodyBounds {
  readonly mostBytes: number;
  readonly instead: string;
}

/** All of a body. @throws Refusal 408 when it takes too long, 413 when it is too large, 400 when it is cut short */
export async function readBytes(body: SentBody, bounds: BodyBounds): Promise<Uint8Array<ArrayBuffer>> {
  const { mostBytes } = bounds;
  if (body.declaredBytes > mostBytes) throw tooLarge(bounds);
  const pieces: Uint8Array[] = [];
  const reader = body.bytes?.getReader();
  if (reader === undefined) return joined(pieces, body);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooSlow(bounds)), LONGEST_BODY_MS);
  try {
    for (let size = 0; ; ) {
      const { done, value } = await Promise.race([reader.read(), late.promise]);
      if (done) return joined(pieces, body);
      size += value.length;
      if (size > mostBytes) throw tooLarge(bounds);
      pieces.push(value);
    }
  } catch (error) {
    reader.cancel(error).catch(() => {});
    // A sender that hangs up is nothing that went wrong here.
    throw error instanceof Refusal ? error : badRequest("The body was cut short.");
  } finally {
    clearTimeout(timer);
  }
}

/** A start whose input was lost on the way would buy the defaults. @throws Refusal 400 */
function joined(pieces: readonly Uint8Array[], { declaredBytes }: SentBody): Uint8Array<ArrayBuffer> {
  if (pieces.length > 0 || !(declaredBytes > 0)) return new Uint8Array(Buffer.concat(pieces));
  throw badRequest(
    `Of ${declaredBytes} bytes none came: a body parser read them first. Mount this before any body parser.`,
  );
}

export function tooLarge({ mostBytes, instead }: BodyBounds): Refusal {
  return new Refusal(413, "TOO_LARGE", `A request may hold ${mostBytes} bytes; ${instead}.`);
}

function tooSlow({ instead }: BodyBounds): Refusal {
  const message = `The body did not arrive within ${LONGEST_BODY_MS / 1000} seconds: send it again, and ${instead}.`;
  return new Refusal(408, "BODY_TIMEOUT", message);
}
