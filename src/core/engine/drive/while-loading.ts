import { AsyncLocalStorage } from "node:async_hooks";
import { ShowrunnerError } from "../../kit/errors.ts";

/** A pipeline file that was only being loaded tried to start a run. Nothing was submitted. */
export class RunWhileLoadingError extends ShowrunnerError {
  readonly code = "RUN_WHILE_LOADING";
  constructor(pipeline: string) {
    super(`pipeline ${JSON.stringify(pipeline)} was started while its file was being loaded; nothing was submitted.`);
  }
}

const loading = new AsyncLocalStorage<true>();

/**
 * Calls `load`, which imports a file only to read its exports. If the file's code calls `run` or `resume` meanwhile,
 * throws {@link RunWhileLoadingError} before anything is paid.
 */
export function whileLoading<T>(load: () => Promise<T>): Promise<T> {
  return loading.run(true, load);
}

export function refuseWhileLoading(pipeline: string): void {
  if (loading.getStore()) throw new RunWhileLoadingError(pipeline);
}
