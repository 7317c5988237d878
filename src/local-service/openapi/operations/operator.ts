import { faultsBody } from "../../faults/rules.ts";
import { clockBody, keyBody, memberBody, walletBody } from "../../operator/bodies.ts";
import { json, jsonBody, type OperationSpec, type Specs } from "../operation-spec.ts";
import { bodyOf } from "../schema.ts";

const tag = "Operator";
const ANY = { type: "object" };
const page = {
  status: 200,
  description: "A page for a browser.",
  content: { "text/html": { type: "string" } },
} as const;

function read(operationId: string, description: string): OperationSpec {
  return { tag, operationId, success: json(ANY, description) };
}

/** The operator's side, below `/_local`. */
export const operatorOperations: Specs = {
  "GET /stats": read("get_stats", "Counts over the data folder's life; requests since this start."),
  "GET /wallet": read("get_wallets", "Every workspace's wallet."),
  "POST /wallet": { ...read("change_wallet", "Every workspace's wallet."), body: jsonBody(bodyOf(walletBody)) },
  "GET /fund": { tag, operationId: "show_funding", query: { workspace_id: { type: "string" } }, success: page },
  "POST /fund": {
    tag,
    operationId: "add_funds",
    query: { workspace_id: { type: "string" } },
    body: {
      mediaType: "application/x-www-form-urlencoded",
      schema: { type: "object", required: ["dollars"], properties: { dollars: { type: "number" } } },
    },
    success: page,
  },
  "POST /keys": {
    tag,
    operationId: "make_key",
    body: jsonBody(bodyOf(keyBody), false),
    success: json(ANY, "The key, with its credential.", 201),
  },
  "POST /members": {
    ...read("change_member", "The owner's state."),
    body: jsonBody(bodyOf(memberBody)),
    errors: ["NOT_FOUND"],
  },
  "GET /faults": read("get_faults", "The rules, with how often each matched and struck."),
  "POST /faults": { ...read("set_faults", "The rules as set."), body: jsonBody(bodyOf(faultsBody)) },
  "GET /clock": read("get_clock", "Mode, factor and instant."),
  "POST /clock": { ...read("set_clock", "Mode, factor and instant."), body: jsonBody(bodyOf(clockBody)) },
  "GET /openapi.json": read("get_openapi", "This document."),
};
