import type { Catalog } from "../catalog/catalog.ts";
import type { Endpoint } from "../http/call.ts";
import { assertOperator } from "../operator/loopback.ts";
import { apiDocument, type Deployment, operatorDocument } from "./document.ts";
import { operatorOperations } from "./operations/operator.ts";

const HEADERS = { "Content-Type": "application/json" };

/** Writes a document once, when it is first asked for. */
function written(make: () => object): () => string {
  let text: string | undefined;
  return () => (text ??= JSON.stringify(make()));
}

/** The table with one more row: the document that describes all of it. */
export function described(endpoints: readonly Endpoint[], catalog: Catalog, options: Deployment): readonly Endpoint[] {
  const models = catalog.list(null).map(({ entry }) => entry);
  const text = written(() => apiDocument(all, models, options));
  const own: Endpoint = {
    method: "GET",
    path: "/openapi.json",
    access: "public",
    summary: "This API as OpenAPI 3.1",
    handle: () => ({ is: "text", status: 200, body: text(), headers: HEADERS }),
  };
  const all = [...endpoints, own];
  return all;
}

/** The same for the operator's side, which answers on this machine only. */
export function describedOperator(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const text = written(() => operatorDocument(all, operatorOperations));
  const own: Endpoint = {
    method: "GET",
    path: "/openapi.json",
    access: "public",
    summary: "The operator's side as OpenAPI 3.1",
    handle(call) {
      assertOperator(call.incoming);
      return { is: "text", status: 200, body: text(), headers: HEADERS };
    },
  };
  const all = [...endpoints, own];
  return all;
}
