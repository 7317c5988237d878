import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ErrorCode, type JSONRPCErrorResponse, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { isRecord } from "../served/index.ts";

/** A server that also answers invalid messages. The SDK alone would drop them, and their senders would keep waiting. */
export class AnsweringServer extends Server {
  override connect(transport: Transport): Promise<void> {
    // The protocol calls a handler that was set before its own first, with every message.
    transport.onmessage = (message) => {
      const answer = malformed(message);
      if (answer !== null) transport.send(answer).catch(() => {});
    };
    return super.connect(transport);
  }
}

/** Returns the response to a malformed request; null for valid messages and for notifications. */
function malformed(given: unknown): JSONRPCErrorResponse | null {
  if (JSONRPCMessageSchema.safeParse(given).success) return null;
  const id = idOf(given);
  if (id === undefined && isRecord(given) && typeof given["method"] === "string") return null;
  return errorOf(ErrorCode.InvalidRequest, "This is not a valid MCP message.", id);
}

/** Returns the response to a line that is not a valid message; null for valid messages and empty lines. */
export function malformedLine(line: string): JSONRPCErrorResponse | null {
  if (line.trim() === "") return null;
  try {
    return malformed(JSON.parse(line));
  } catch {
    return errorOf(ErrorCode.ParseError, "This line is not valid JSON; send one message per line.", undefined);
  }
}

function errorOf(code: ErrorCode, message: string, id: string | number | undefined): JSONRPCErrorResponse {
  return { jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message } };
}

/** Returns a request's id; undefined for a response, whose id is that of our own request. */
function idOf(given: unknown): string | number | undefined {
  if (!isRecord(given) || "result" in given || "error" in given) return undefined;
  const { id } = given;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as string | number) : undefined;
}
