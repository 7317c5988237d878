import { hash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Catalog, generateModels } from "../core/catalog/index.ts";
import { toDocument } from "../core/kit/document.ts";
import { writeDurably } from "../core/kit/files.ts";
import { assetReport, bodyReport, refusedReports } from "./body-reports.ts";
import { type Checked, check, type Mistake, problemsOf } from "./check.ts";
import { jobsOf, MigrationContext, type StockVoice, usedInputs } from "./migration-context.ts";
import { kebab } from "./names.ts";
import { bodiesOf } from "./read/bodies.ts";
import { readV2File } from "./read/read-file.ts";
import { readText } from "./read/read-text.ts";
import { isRecord, type JsonPath, pathText, type ReadBodies, readProblem, type V2Source } from "./read/source.ts";
import { reportMarkdown } from "./report/markdown.ts";
import { type BodyReport, decisionsOf, type MigrationReport } from "./report/report.ts";
import { writeSource } from "./source.ts";
import { usedIds } from "./v2-types.ts";

/** Records which body each id refers to. If several bodies contain the same id, it refers to the first of them. */
function noteIdentities(sources: readonly V2Source[], context: MigrationContext): void {
  for (const [index, { value }] of sources.entries()) {
    if (!isRecord(value)) continue;
    const claim = (id: unknown, variation: number) => {
      if (typeof id === "string" && id !== "" && !context.identities.has(id))
        context.identities.set(id, { index, variation });
    };
    for (const field of ["reserved_asset_id", "asset_id", "generation_id", "id"]) claim(value[field], 0);
    for (const field of ["reserved_asset_ids", "generation_ids"]) listIn(value[field]).forEach(claim);
    for (const [variation, result] of listIn(value.batch_results).entries()) {
      if (!isRecord(result)) continue;
      claim(result.asset_id, variation);
      claim(result.id, variation);
    }
  }
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function convertAll(checked: readonly Checked[], context: MigrationContext, sources: readonly V2Source[]) {
  const byIndex = new Map(checked.map((one) => [one.index, one]));
  const edgesOf = (index: number): readonly Edge[] => {
    const one = byIndex.get(index);
    if (one?.is !== "body") return [];
    return usedIds(one.body.value, one.body.type).flatMap(({ path, id }): readonly Edge[] => {
      const link = context.link(one.body, id);
      if (link.to === "outside" || !byIndex.has(link.index)) return [];
      const uses = context.uses.get(id) ?? [];
      context.uses.set(id, uses);
      uses.push(one.source.at);
      return [{ to: link.index, path }];
    });
  };
  const { order, cycles } = inOrder(sources.length, edgesOf);
  const reports: BodyReport[] = [];
  // All uses are known here, because the sort has visited all edges.
  for (const index of order) {
    const one = byIndex.get(index);
    if (one === undefined) continue;
    reports.push(one.is === "asset" ? assetReport(one, context) : bodyReport(one.body, context));
  }
  reports.sort((a, b) => a.number - b.number);
  return { reports, cycles: cycles.map((cycle) => cycleMistake(cycle, sources)) };
}

function cycleMistake({ nodes, paths }: Cycle, sources: readonly V2Source[]): Mistake {
  const [first = 0] = nodes;
  const trail = nodes.map((node, at) => `${sources[node]?.at} (${pathText(paths[at] ?? [])})`).join(" → ");
  const message = `the ids form a cycle, so no job can come first: ${trail} → ${sources[first]?.at}`;
  const also = nodes.slice(1).flatMap((node) => sources[node] ?? []);
  return { code: "cyclic-ids", source: sources[first] as V2Source, path: paths[0] ?? [], message, also };
}

/** Options for {@link migrateV2}. */
export interface MigrateOptions {
  /** The v3 models to migrate to, from `fetchCatalog(client)` or `readSnapshot(file)`. */
  readonly catalog: Catalog;
  /** Maps v2 model slugs to v3 model ids, and v2 voice ids to v3 voice ids. Default: none. */
  readonly map?: { readonly [v2: string]: string } | undefined;
  /**
   * Media, prompts, shots and voices that may be left out, each identified by the `answer.key` of its decision.
   * Default: none.
   */
  readonly leaveOut?: readonly string[] | undefined;
  /** Name of the pipeline. Default: `migrated`. */
  readonly name?: string | undefined;
  /** The module from which the generated source imports its models. Default: `./models.ts`. */
  readonly modelsModule?: string | undefined;
  /** Maximum number of bodies in a pipeline. Bodies beyond it are reported as problems. Default: 20,000. */
  readonly maxBodies?: number | undefined;
  /** Voices that may replace v2 voices, for each v3 model id. Default: none. */
  readonly voices?: { readonly [model: string]: readonly StockVoice[] } | undefined;
}

/** The result of migrating v2 work to a v3 pipeline. */
export interface Migration {
  /** TypeScript source whose default export is the pipeline. Null if nothing could be migrated. */
  readonly source: string | null;
  /** The outcome of every field, as plain JSON. */
  readonly report: MigrationReport;
}

/**
 * Migrates v2 request bodies or an exported automation flow. Does not throw if a body is invalid, but lists the problem
 * in `report.problems`.
 */
export function migrateV2(value: unknown, options: MigrateOptions): Migration {
  return migrateBodies(typeof value === "string" ? readText(value) : bodiesOf(value), options);
}

export function migrateBodies(given: ReadBodies, options: MigrateOptions): Migration {
  const read = bounded(given, options.maxBodies ?? MAX_BODIES);
  const context = new MigrationContext({
    catalog: options.catalog,
    map: new Map(Object.entries(options.map ?? {})),
    voices: new Map(Object.entries(options.voices ?? {})),
    leaveOut: new Set(options.leaveOut),
  });
  const name = kebab(options.name ?? "migrated") ?? "migrated";
  const { bodies, mistakes } = check(read.sources, context);
  noteIdentities(read.sources, context);
  const { reports, cycles } = convertAll(bodies, context, read.sources);
  const all = [...mistakes, ...cycles];
  const refused = refusedReports(all, read.sources);
  const inputs = usedInputs(context);
  const report: MigrationReport = {
    version: 1,
    pipeline: name,
    sourceSha256: null,
    format: read.format,
    bodies: [...reports, ...refused].sort((a, b) => a.number - b.number),
    steps: stepsOf(context),
    inputs,
    decisions: decisionsOf(reports),
    problems: problemsOf(all, read),
    left: read.left,
    price: null,
    verification: null,
  };
  const modelsModule = options.modelsModule ?? "./models.ts";
  const source = context.converted.size === 0 ? null : writeSource(report, context, modelsModule);
  return { source, report: { ...report, sourceSha256: source === null ? null : hash("sha256", source) } };
}

const MAX_BODIES = 20_000;

function bounded(read: ReadBodies, most: number): ReadBodies {
  const rest = read.sources.slice(most);
  const [first] = rest;
  if (first === undefined) return read;
  const message = `is the first of ${rest.length} bodies that exceed the limit of ${most} per pipeline; split the document`;
  const problem = readProblem("too-many-bodies", first.at, first.path, message);
  return { ...read, sources: read.sources.slice(0, most), problems: [...read.problems, problem] };
}

function stepsOf(context: MigrationContext): MigrationReport["steps"] {
  return jobsOf(context).flatMap(({ view, variations, body }) =>
    variations.map(({ step }) => ({ name: step, model: view.id, yields: view.yields, body: body + 1 })),
  );
}

/**
 * Migrates the v2 request bodies or the automation flow in a file, like {@link migrateV2}. The default name of the
 * pipeline is the file's name.
 * @throws V2FileError if the file cannot be read
 */
export async function migrateV2File(path: string, options: MigrateOptions): Promise<Migration> {
  const read = await readV2File(path);
  return migrateBodies(read, { name: basename(path).replace(/\.[^.]*$/, ""), ...options });
}

/** Returns the text of each file of a migration, by file name. */
export function migrationFiles(migration: Migration, catalog: Catalog): { readonly [name: string]: string } {
  const { source, report } = migration;
  return {
    ...(source !== null && { "pipeline.ts": source, "models.ts": generateModels(catalog) }),
    "report.json": `${JSON.stringify(toDocument(report), null, 2)}\n`,
    "report.md": reportMarkdown(report),
  };
}

/** Writes {@link migrationFiles} to a folder, and returns their paths. Creates the folder if it is missing. */
export async function writeMigration(
  folder: string,
  migration: Migration,
  catalog: Catalog,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const files = Object.entries(migrationFiles(migration, catalog));
  await Promise.all(files.map(([name, text]) => writeDurably(join(folder, name), text)));
  return files.map(([name]) => join(folder, name));
}

interface Edge {
  readonly to: number;
  readonly path: JsonPath;
}

interface Cycle {
  readonly nodes: readonly number[];
  readonly paths: readonly JsonPath[];
}

/** Sorts the nodes so that each comes after those that it references. Returns cycles separately. */
function inOrder(
  count: number,
  edgesOf: (node: number) => readonly Edge[],
): { readonly order: readonly number[]; readonly cycles: readonly Cycle[] } {
  const order: number[] = [];
  const cycles: Cycle[] = [];
  const state = new Uint8Array(count); // 0 new, 1 visited, 2 in a cycle
  const depth = new Int32Array(count).fill(-1);
  for (let root = 0; root < count; root++) {
    if (state[root] === 0) visit(root);
  }
  return { order, cycles };

  /**
   * Visits a node and everything that it references. Does not recurse, because a long chain would overflow the stack.
   */
  function visit(root: number): void {
    const trail: { readonly node: number; readonly edges: readonly Edge[]; next: number }[] = [];
    const enter = (node: number) => {
      state[node] = 1;
      depth[node] = trail.length;
      trail.push({ node, edges: edgesOf(node), next: 0 });
    };
    enter(root);
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const edge = top.edges[top.next++];
      if (edge === undefined) {
        trail.pop();
        depth[top.node] = -1;
        if (state[top.node] === 1) order.push(top.node);
      } else if (state[edge.to] === 0) enter(edge.to);
      else if ((depth[edge.to] ?? -1) >= 0) {
        const circle = trail.slice(depth[edge.to]);
        for (const { node } of circle) state[node] = 2;
        const paths = circle.map(({ edges, next }) => edges[next - 1]?.path ?? []);
        cycles.push({ nodes: circle.map(({ node }) => node), paths });
      }
    }
  }
}
