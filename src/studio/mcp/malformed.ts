import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ErrorCode, type JSONRPCErrorResponse, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { isRecord } from "../served/index.ts";

/** A server that answers what is no message of the protocol: the SDK drops it, and its sender would wait. */
export class AnsweringServer extends Server {
  override connect(transport: Transport): Promise<void> {
    // What listens before the protocol does is called first, and with everything.
    transport.onmessage = (message) => {
      const answer = malformed(message);
      if (answer !== null) transport.send(answer).catch(() => {});
    };
    return super.connect(transport);
  }
}

/** The answer to a request that is malformed; null for a message of the protocol, and for what asks for no answer. */
function malformed(given: unknown): JSONRPCErrorResponse | null {
  if (JSONRPCMessageSchema.safeParse(given).success) return null;
  const id = idOf(given);
  if (id === undefined && isRecord(given) && typeof given["method"] === "string") return null;
  return errorOf(ErrorCode.InvalidRequest, "This is no JSON-RPC message of this protocol.", id);
}

/** The answer to a line that is no message; null for one that is, and for an empty one. */
export function malformedLine(line: string): JSONRPCErrorResponse | null {
  if (line.trim() === "") return null;
  try {
    return malformed(JSON.parse(line));
  } catch {
    return errorOf(ErrorCode.ParseError, "This line is no JSON; send one message a line.", undefined);
  }
}

function errorOf(code: ErrorCode, message: string, id: string | number | undefined): JSONRPCErrorResponse {
  return { jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message } };
}

/** Of a request: an answer to our own question is none, and its id is ours. */
function idOf(given: unknown): string | number | undefined {
  if (!isRecord(given) || "result" in given || "error" in given) return undefined;
  const { id } = given;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as string | number) : undefined;
}
