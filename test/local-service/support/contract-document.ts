import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";

/* An OpenAPI document, read so that answers can be held against it. */

export type Schema = Record<string, unknown>;

export interface Media {
  readonly schema: Schema;
  /** Schema of a frame of an event stream; `schema` describes the frame's data. */
  readonly "x-itemSchema"?: Schema;
}

interface Header {
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Described {
  readonly content?: Readonly<Record<string, Media>>;
  readonly headers?: Readonly<Record<string, Header | { readonly $ref: string }>>;
}

interface Operation {
  readonly responses: Readonly<Record<string, Described>>;
}

interface Webhook {
  readonly post: {
    readonly parameters: readonly { readonly name: string; readonly required: boolean; readonly schema: Schema }[];
    readonly requestBody: Described;
  };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, Webhook>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Header>>;
  };
}

interface Route {
  readonly name: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly operation: Operation;
}

const COMPONENTS = "components";

/** Closes schemas: objects with named fields have no other fields, and references point to the document of all components. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== "object" || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  if (typeof copy["$ref"] === "string") return { ...copy, $ref: copy["$ref"].replace(/^#/, `${COMPONENTS}#`) };
  const isClosed = copy["type"] === "object" && "properties" in copy && !("additionalProperties" in copy);
  return isClosed ? { ...copy, additionalProperties: false } : copy;
}

function routesOf(document: Document): readonly Route[] {
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
      operation,
    })),
  );
  // A path that is spelt out is meant before one with parameters.
  return routes.sort((a, b) => Number(a.name.includes("{")) - Number(b.name.includes("{")));
}

/** True for the schema of a model's input. These schemas do not describe responses and may contain anything. */
const isModelInput = (name: string) => /Input(_[0-9a-f]{6})?$/.test(name);

function validators(document: Document) {
  // Whether its schemas are such is a question to the document, which other tests ask.
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, validateSchema: false });
  formatsPlugin.default(ajv);
  const names = Object.keys(document.components.schemas).filter((name) => !isModelInput(name));
  const schemas = Object.fromEntries(names.map((name) => [name, closed(document.components.schemas[name])]));
  ajv.addSchema({ components: { schemas } }, COMPONENTS);
  const known = new Map<string, ValidateFunction>();
  return (schema: Schema): ValidateFunction => {
    const key = JSON.stringify(schema);
    const validate = known.get(key) ?? ajv.compile(closed(schema) as Schema);
    known.set(key, validate);
    return validate;
  };
}

export const component = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

export interface Read {
  readonly routes: readonly Route[];
  readonly webhooks: Document["webhooks"];
  readonly sharedHeaders: Document["components"]["headers"];
  readonly validatorOf: (schema: Schema) => ValidateFunction;
}

const documents = new Map<string, Read>();

function read(text: string): Read {
  const document = JSON.parse(text) as Document;
  const { webhooks, components } = document;
  return { routes: routesOf(document), webhooks, sharedHeaders: components.headers, validatorOf: validators(document) };
}

/** Services with the same document share its compiled schemas. */
export function readDocument(text: string): Read {
  const document = documents.get(text) ?? read(text);
  documents.set(text, document);
  return document;
}
