/** Writes the tables in docs/local-service.md from the service itself. `--check` only checks that they are current. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { faultsBody } from "../src/local-service/faults/rules.ts";
import { startLocalService } from "../src/local-service/index.ts";
import { bodyOf, TAGS } from "../src/local-service/openapi/operation.ts";

const root = join(import.meta.dirname, "..");
const path = join(root, "docs", "local-service.md");

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Row {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** True if the operation submits jobs of one model. The row of the general operation already covers it. */
const isModelsOwn = ({ operation }: Row) => operation.tags.includes(TAGS.submit.name);

function rowsOf({ paths }: Description): Row[] {
  const rows = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return rows.filter((row) => !isModelsOwn(row));
}

function accessOf({ security }: Operation): string {
  const [first] = security;
  if (!first) return "no credential";
  const [scope] = Object.values(first).flat();
  return scope === undefined ? "a key (not a token)" : `\`${scope}\``;
}

function endpointTable(description: Description): string {
  const byAccess = Map.groupBy(rowsOf(description), ({ operation }) => accessOf(operation));
  const rows = [...byAccess].map(([access, all]) => {
    return `| ${access} | ${all.map(({ method, path }) => `\`${method} ${path}\``).join(", ")} |`;
  });
  return ["| Needs | Endpoints |", "|---|---|", ...rows].join("\n");
}

function operatorTable(description: Description): string {
  const rows = rowsOf(description).map(
    ({ method, path, operation }) => `| \`${method} /_local${path}\` | ${operation.summary} |`,
  );
  return ["| Endpoint | What it does |", "|---|---|", ...rows].join("\n");
}

interface RuleSchema {
  readonly properties: Readonly<Record<string, { readonly const?: string; readonly default?: unknown }>>;
}

/** Fields that all rules have, and that determine when a rule applies. */
const MATCH = new Set(["kind", "route", "model", "prompt", "probability", "count", "skip"]);

function ruleSchemas(): readonly RuleSchema[] {
  const { properties } = bodyOf(faultsBody) as { readonly properties: { readonly rules: { readonly items: object } } };
  const { oneOf = [], anyOf = [] } = properties.rules.items as { oneOf?: RuleSchema[]; anyOf?: RuleSchema[] };
  return [...oneOf, ...anyOf];
}

function faultTable(): string {
  const source = readFileSync(join(root, "src/local-service/faults/rules.ts"), "utf8");
  const descriptions = new Map(
    [...source.matchAll(/\/\*\* (.+) \*\/\n\s*rule\("(\w+)"/g)].map(([, text = "", kind = ""]) => [kind, text]),
  );
  const rows = ruleSchemas().map(({ properties }) => {
    const kind = properties["kind"]?.const ?? "";
    const text = descriptions.get(kind);
    if (text === undefined) throw new Error(`The fault ${kind} has no docstring in src/local-service/faults/rules.ts.`);
    const own = Object.entries(properties).filter(([name]) => !MATCH.has(name));
    const fields = own.map(
      ([name, field]) => `\`${name}\`${field.default === undefined ? "" : ` (${JSON.stringify(field.default)})`}`,
    );
    return `| \`${kind}\` | ${text} | ${fields.join(", ")} |`;
  });
  return ["| Kind | What happens | Fields (default) |", "|---|---|---|", ...rows].join("\n");
}

function replaced(text: string, name: string, table: string): string {
  const pattern = new RegExp(`(<!-- ${name}: [^\\n]*-->\\n)[\\s\\S]*?(<!-- end -->)`);
  if (!pattern.test(text)) throw new Error(`docs/local-service.md has no markers for the table "${name}".`);
  return text.replace(pattern, (_whole, open: string, close: string) => `${open}${table}\n${close}`);
}

/** Returns the document with its tables updated. */
export async function localServiceReference(text: string): Promise<string> {
  const service = await startLocalService({ renderer: "stub" });
  try {
    const describe = async (url: string) => (await (await fetch(url)).json()) as Description;
    const api = await describe(`${service.baseUrl}/openapi.json`);
    const operator = await describe(new URL("/_local/openapi.json", service.baseUrl).href);
    const withApi = replaced(text, "endpoints", endpointTable(api));
    return replaced(replaced(withApi, "operator", operatorTable(operator)), "faults", faultTable());
  } finally {
    await service.close();
  }
}

if (import.meta.main) {
  const current = readFileSync(path, "utf8");
  const wanted = await localServiceReference(current);
  if (!process.argv.includes("--check")) writeFileSync(path, wanted);
  else if (current !== wanted) {
    console.error("docs/local-service.md is outdated; run: node scripts/local-service-reference.ts");
    process.exit(1);
  }
}
