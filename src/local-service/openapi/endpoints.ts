import type { Catalog } from "../catalog/catalog.ts";
import { faultsBody } from "../faults/rules.ts";
import { type Call, type Endpoint, endpoint } from "../http/call.ts";
import { assertOperator } from "../operator/endpoints.ts";
import { clockBody, keyBody, memberBody, walletBody } from "../request-bodies.ts";
import { apiDocument, type Deployment, operatorDocument } from "./document.ts";
import { json, jsonBody, type OperationSpec, type Specs } from "./operation.ts";
import { bodyOf } from "./schema.ts";

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

/** The operator endpoints, below `/_local`. */
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

/** The table with one more row: the document that describes it, generated on its first request. */
function withDocument(
  endpoints: readonly Endpoint[],
  summary: string,
  make: (all: readonly Endpoint[]) => object,
  assertAllowed: (call: Call) => void = () => {},
): readonly Endpoint[] {
  let text: string | undefined;
  const own = endpoint("GET", "/openapi.json", "public", summary, (call) => {
    assertAllowed(call);
    text ??= JSON.stringify(make(all));
    return { is: "text", status: 200, body: text, headers: { "Content-Type": "application/json" } };
  });
  const all = [...endpoints, own];
  return all;
}

export function described(endpoints: readonly Endpoint[], catalog: Catalog, options: Deployment): readonly Endpoint[] {
  const models = catalog.list(null).map(({ entry }) => entry);
  return withDocument(endpoints, "This API as OpenAPI 3.1", (all) => apiDocument(all, models, options));
}

/** The same for the operator endpoints, which answer on this machine only. */
export function describedOperator(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const document = (all: readonly Endpoint[]) => operatorDocument(all, operatorOperations);
  return withDocument(endpoints, "The operator's side as OpenAPI 3.1", document, ({ incoming }) =>
    assertOperator(incoming),
  );
}
