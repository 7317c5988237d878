import { existsSync, statSync } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { registerHooks } from "node:module";
import { dirname, extname, isAbsolute, join, relative, resolve } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { own } from "../../core/kit/lookup.ts";
import { installCommand } from "../../core/kit/own-version.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { whileLoading } from "../../core/kit/while-loading.ts";
import { traitsOf } from "../../core/plan/index.ts";
import { loadRun } from "../../core/view/index.ts";
import type { Pipeline, Showrunner } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { codeFrame, GENERATION, importFrame } from "../explain-error.ts";
import { kindOf } from "../input/named-file.ts";
import { visible, visibleLines } from "../text/escape.ts";

function loadFailure(cause: unknown, file: string, cwd: string): CliError {
  const name = visible(relative(cwd, file) || file);
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const code = (error as NodeJS.ErrnoException).code;
  const said = visible(error.message);
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
    return invalid(
      `${name} uses TypeScript syntax that Node cannot run: ${said}${codeFrame(error)}`,
      "avoid enums, namespaces and parameter properties, or run: npm install -D tsx && NODE_OPTIONS='--import tsx' npx showrunner …",
      cause,
    );
  }
  if (error instanceof SyntaxError) {
    return invalid(`${name} does not compile: ${said}${codeFrame(error)}`, "correct the file and try again", cause);
  }
  if (code === "ERR_MODULE_NOT_FOUND" || code === "ERR_PACKAGE_PATH_NOT_EXPORTED") {
    const missing =
      /(?:Cannot find (?:package|module)|Package subpath) '([^']+)'/.exec(error.message)?.[1] ?? "a module";
    const message = `${name} imports ${visible(missing)}, which cannot be found${importFrame(error)}`;
    return invalid(message, importAdvice(missing, cwd), cause);
  }
  if (code === "RUN_WHILE_LOADING") {
    const next = `move the code that starts the run to another file that imports the pipeline; with Node 24 or later, you can instead wrap that code in if (import.meta.main) { … }, so that it runs only with: node ${name}`;
    return failed(`${name}: ${said}${codeFrame(error)}`, next, cause);
  }
  // Plan problems span several lines; any other message is the user's own text.
  const message = code === "PLAN_PROBLEMS" ? visibleLines(error.message) : said;
  return failed(
    `${name} threw an error while loading: ${message}${codeFrame(error)}`,
    "correct the file and try again",
    cause,
  );
}

function neverLoaded(file: string, cwd: string, waited: string): CliError {
  const name = visible(relative(cwd, file) || file);
  return failed(
    `${name} did not load: a top-level await in it, or in a file it imports, did not settle ${waited}`,
    "move the await into a task, or make sure that the awaited promise settles; then try again",
  );
}

function invalid(message: string, next: string, cause: unknown): CliError {
  return new CliError("PIPELINE_FILE_INVALID", message, { next, cause });
}

function failed(message: string, next: string, cause?: unknown): CliError {
  return new CliError("PIPELINE_FILE_FAILED", message, { next, cause });
}

function importAdvice(missing: string, cwd: string): string {
  if (missing === join(cwd, "models.ts")) return "showrunner models pull   (writes models.ts)";
  const isFile = /^[./]|^file:/.test(missing);
  return isFile
    ? "check the import; relative imports need a file extension, e.g. ./models.ts"
    : missing === "showrunner-local"
      ? installCommand(missing)
      : `npm install ${visible(missing)}`;
}

const LOAD_TIMEOUT_MS = 60_000;

/** Imports a user's file. During the import, the file cannot start runs. */
export async function importFile(
  file: string,
  cwd: string,
  options: { readonly timeoutMs?: number; readonly generation?: number } = {},
): Promise<Record<string, unknown>> {
  const { timeoutMs = LOAD_TIMEOUT_MS, generation = 0 } = options;
  const url = pathToFileURL(file);
  if (generation > 0) url.searchParams.set(GENERATION, String(generation));
  const over = new AbortController();
  const onEmpty = Promise.withResolvers<never>();
  const onBeforeExit = () => onEmpty.reject(neverLoaded(file, cwd, "(no pending work could settle it)"));
  const late = delay(timeoutMs, undefined, { ref: false, signal: over.signal }).then(() => {
    throw neverLoaded(file, cwd, `(waited ${timeoutMs / 1000} s)`);
  });
  late.catch(() => {});
  process.on("beforeExit", onBeforeExit);
  try {
    const loaded = whileLoading(() => import(url.href)).catch((cause: unknown) => {
      throw loadFailure(cause, file, cwd);
    });
    return (await Promise.race([loaded, onEmpty.promise, late])) as Record<string, unknown>;
  } finally {
    process.off("beforeExit", onBeforeExit);
    over.abort();
  }
}

export interface LoadedPipeline {
  readonly pipeline: Pipeline;
  readonly file: string;
  readonly exportName: string;
}

const endings = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];

/** Loads a pipeline. `spec` is a file, optionally followed by `#` and the export's name. */
export async function loadPipeline(spec: string, cwd: string): Promise<LoadedPipeline> {
  const { file, exportName } = await locate(spec, cwd);
  const { exports, pipelines } = await importPipelines(file, cwd);
  const [name, pipeline] = choose(pipelines, exportName, { exports, shown: visible(relative(cwd, file) || file) });
  markSound(file);
  return { pipeline, file, exportName: name };
}

async function importPipelines(file: string, cwd: string) {
  shareOwnModules();
  const { isPipeline } = await import("../../core/define/index.ts");
  const exports = await importFile(file, cwd, { generation: nextGeneration(file) });
  const pipelines = Object.entries(exports).filter((entry): entry is [string, Pipeline] => isPipeline(entry[1]));
  return { exports, pipelines };
}

const loads = new Map<string, { readonly stamp: string; readonly generation: number; readonly isSound: boolean }>();

function markSound(file: string): void {
  loads.set(file, { ...loads.get(file)!, isSound: true });
}

/**
 * Returns a number to add to the file's URL. Node caches modules by URL, so a new number makes it load the file again.
 */
function nextGeneration(file: string): number {
  const known = loads.get(file);
  const now = stamp(file);
  if (known?.isSound === true && known.stamp === now) return known.generation;
  const generation = known === undefined ? 0 : known.generation + 1;
  loads.set(file, { stamp: now, generation, isSound: false });
  return generation;
}

/**
 * Splits a spec into a file and an export's name. Tries the whole spec as a file first, because a file name can contain
 * `#`.
 */
async function locate(spec: string, cwd: string): Promise<{ file: string; exportName: string | null }> {
  const whole = resolve(cwd, spec);
  const hash = spec.lastIndexOf("#");
  if (hash <= 0 || (await kindOf(whole)) === "file") return { file: await existing(whole, cwd), exportName: null };
  return { file: await existing(resolve(cwd, spec.slice(0, hash)), cwd), exportName: spec.slice(hash + 1) };
}

async function existing(file: string, cwd: string): Promise<string> {
  const kind = await kindOf(file);
  const shown = visible(relative(cwd, file) || file);
  if (kind === "missing") {
    throw new CliError("PIPELINE_FILE_MISSING", `pipeline file ${shown} does not exist`, {
      next: "check the path; write path/to/file.ts or path/to/file.ts#export",
    });
  }
  if (kind !== "file" || !endings.includes(extname(file))) {
    throw new CliError("PIPELINE_FILE_INVALID", `${shown} is not a pipeline file`, {
      next: `use a file that ends in ${endings.join(", ")}`,
    });
  }
  return file;
}

function choose(
  pipelines: readonly [string, Pipeline][],
  requested: string | null,
  { exports, shown }: { readonly exports: Record<string, unknown>; readonly shown: string },
): [string, Pipeline] {
  const found = pipelines.find(([name]) => name === (requested ?? "default"));
  if (found) return found;
  const [first, ...others] = pipelines;
  if (requested === null && first && others.length === 0) return first;
  const names = pipelines.map(([name]) => visible(name));
  const next = first
    ? `choose one: ${names.map((name) => `${shown}#${name}`).join(" or ")}`
    : 'export one: export default pipeline("name", { input, build })';
  const there = first
    ? `exports several pipelines: ${names.join(", ")}`
    : `exports no pipeline; it exports ${listed(exports)}`;
  const problem = requested === null ? there : `has no pipeline named ${visible(requested)}`;
  throw new CliError("PIPELINE_NOT_FOUND", `${shown} ${problem}`, { next });
}

function listed(exports: Record<string, unknown>): string {
  const all = Object.entries(exports).map(
    ([name, value]) => `${visible(name)} (${value === null ? "null" : typeof value})`,
  );
  return all.length > 0 ? all.join(", ") : "nothing";
}

function stamp(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "missing" : `${found.mtimeMs} ${found.size}`;
}

/** Loads the pipelines in a folder. Skips files that fail to load and pipelines whose name is taken. */
export async function pipelinesIn(folder: string, { io, output }: Context): Promise<readonly LoadedPipeline[]> {
  const path = resolve(io.cwd, folder);
  const entries = await readdir(path, { withFileTypes: true });
  const files = entries.filter(
    (entry) => entry.isFile() && endings.includes(extname(entry.name)) && !/\.d\.[mc]?ts$/.test(entry.name),
  );
  const found: LoadedPipeline[] = [];
  for (const { name } of files.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    try {
      const file = join(path, name);
      const { pipelines } = await importPipelines(file, io.cwd);
      markSound(file);
      for (const [exportName, pipeline] of pipelines) {
        const taken = found.find((one) => one.pipeline.name === pipeline.name);
        if (taken === undefined) found.push({ pipeline, file, exportName });
        else if (taken.pipeline !== pipeline)
          output.say(
            `Skipped ${visible(`${name}#${exportName}`)}: ${visible(relative(path, taken.file))} already has a pipeline named ${visible(pipeline.name)}`,
          );
      }
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      output.say(`Skipped: ${error.message}`);
    }
  }
  return found;
}

/** Returns whether a file is in the working folder. Resolves links, because a link could lead outside the folder. */
export async function isOwnFile(path: string, cwd: string): Promise<boolean> {
  const inside = relative(await realpath(cwd), await realOf(resolve(cwd, path)));
  return inside !== ".." && !/^\.\.[\\/]/.test(inside) && !isAbsolute(inside);
}

/** Like `realpath`, but the path need not exist yet. */
async function realOf(path: string): Promise<string> {
  const above = dirname(path);
  return realpath(path).catch(async () =>
    above === path ? path : resolve(await realOf(above), relative(above, path)),
  );
}

export async function codeOf(show: Showrunner, runId: string, cwd: string) {
  const { plan, source } = (await loadRun(show.journal, runId)).planned;
  if (source === null || !existsSync(source.file)) return null;
  const isNeeded = plan.steps.some((step) => traitsOf(step).needsCode);
  if (isNeeded) await checkOwn(source.file, runId, cwd);
  else if (!(await isOwnFile(source.file, cwd))) return null;
  const loading = loadPipeline(`${source.file}#${source.exportName}`, cwd);
  const loaded = await (isNeeded ? loading : loading.catch(() => null));
  return { pipeline: loaded?.pipeline ?? null, isNeeded };
}

/** Refuses code outside the working folder, because a journal can name any file. */
export async function checkOwn(file: string, runId: string, cwd: string): Promise<void> {
  if (await isOwnFile(file, cwd)) return;
  const message = `The code of run ${visible(runId)} is in ${visible(file)}, outside this folder, so it was not loaded. If you trust that file, pass it with --file or change to its folder`;
  const next = `showrunner resume ${shellWord(runId)} --file ${shellWord(file)}`;
  throw new CliError("CODE_ELSEWHERE", message, { next });
}

const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
const ours: Readonly<Record<string, string>> = {
  showrunner: new URL(`../../index.${extension}`, import.meta.url).href,
  "showrunner/client": new URL(`../../core/api/index.${extension}`, import.meta.url).href,
  "showrunner/film": new URL(`../../film/index.${extension}`, import.meta.url).href,
  "showrunner/migrate": new URL(`../../migrate/index.${extension}`, import.meta.url).href,
};

/** Packages that pipeline files can import even if their project lacks them. */
const fallbacks = new Set(["zod", "showrunner-local"]);

/** Adds the importing file's generation number to the URL of an imported file, so that Node reloads both. */
function inGeneration<T extends { readonly url: string }>(resolved: T, parentURL: string | undefined): T {
  const generation = parentURL?.startsWith("file:") ? new URL(parentURL).searchParams.get(GENERATION) : null;
  if (generation === null || !resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/"))
    return resolved;
  const url = new URL(resolved.url);
  url.searchParams.set(GENERATION, generation);
  return { ...resolved, url: url.href };
}

let installed = false;

/** Makes pipeline files import this process's modules, because another copy would not recognize their pipelines. */
function shareOwnModules(): void {
  if (installed) return;
  installed = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const url = own(ours, specifier);
      if (url !== undefined) return { url, shortCircuit: true };
      if (!fallbacks.has(specifier)) return inGeneration(nextResolve(specifier, context), context.parentURL);
      try {
        return nextResolve(specifier, context);
      } catch {
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
