import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ErrorCode, type JSONRPCErrorResponse, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { isRecord } from "../served/index.ts";

/** The SDK ignores invalid messages, so that their senders would keep waiting. */
export class AnsweringServer extends Server {
  override connect(transport: Transport): Promise<void> {
    // The SDK calls this handler with every message, before its own.
    transport.onmessage = (message) => {
      const answer = malformed(message);
      if (answer !== null) transport.send(answer).catch(() => {});
    };
    return super.connect(transport);
  }
}

function malformed(given: unknown): JSONRPCErrorResponse | null {
  if (JSONRPCMessageSchema.safeParse(given).success) return null;
  const id = idOf(given);
  if (id === undefined && isRecord(given) && typeof given["method"] === "string") return null;
  return errorOf(ErrorCode.InvalidRequest, "This is not a valid MCP message.", id);
}

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

/** Ignores the id of a response, because this server chose it. */
function idOf(given: unknown): string | number | undefined {
  if (!isRecord(given) || "result" in given || "error" in given) return undefined;
  const { id } = given;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as string | number) : undefined;
}
