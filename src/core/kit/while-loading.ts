import { AsyncLocalStorage } from "node:async_hooks";
import { ShowrunnerError } from "./errors.ts";

/** A pipeline file tried to start a run while it was being loaded. Nothing was submitted. */
export class RunWhileLoadingError extends ShowrunnerError {
  readonly code = "RUN_WHILE_LOADING";
  constructor(pipeline: string) {
    super(`pipeline ${JSON.stringify(pipeline)} was started while its file was being loaded; nothing was submitted.`);
  }
}

const loading = new AsyncLocalStorage<true>();

/** Imports a file with `load`. Calls to `run` and `resume` during the import throw {@link RunWhileLoadingError}. */
export function whileLoading<T>(load: () => Promise<T>): Promise<T> {
  return loading.run(true, load);
}

export function refuseWhileLoading(pipeline: string): void {
  if (loading.getStore()) throw new RunWhileLoadingError(pipeline);
}
