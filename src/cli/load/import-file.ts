import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { loadFailure, neverLoaded } from "./load-failure.ts";
import { GENERATION } from "./same-instance.ts";

/** A file that takes longer to load than this waits for something that does not come. */
const LOAD_TIMEOUT_MS = 60_000;

/** Imports a pipeline file; what it runs while it is loaded is refused. Throws a `CliError` for whatever goes wrong. */
export async function importFile(
  file: string,
  cwd: string,
  options: { readonly timeoutMs?: number; readonly generation?: number } = {},
): Promise<Record<string, unknown>> {
  const { timeoutMs = LOAD_TIMEOUT_MS, generation = 0 } = options;
  const url = pathToFileURL(file);
  if (generation > 0) url.searchParams.set(GENERATION, String(generation));
  const { whileLoading } = await import("../../index.ts");
  const over = new AbortController();
  const onEmpty = Promise.withResolvers<never>();
  const onBeforeExit = () => onEmpty.reject(neverLoaded(file, cwd, "(nothing is left that could end it)"));
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
