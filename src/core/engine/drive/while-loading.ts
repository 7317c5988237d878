import { AsyncLocalStorage } from "node:async_hooks";
import { ShowrunnerError } from "../../kit/errors.ts";

/** A pipeline file that was only loaded tried to start a run. Nothing was submitted. */
export class RunWhileLoadingError extends ShowrunnerError {
  readonly code = "RUN_WHILE_LOADING";
  constructor(pipeline: string) {
    super(`pipeline ${JSON.stringify(pipeline)} is started while its file is being loaded; nothing was submitted.`);
  }
}

const loading = new AsyncLocalStorage<true>();

/**
 * Loads code that is only to be read, such as a file that exports a pipeline: `run` and `resume` called by it, at its top
 * level or in what it leaves running, throw {@link RunWhileLoadingError} before anything is paid.
 */
export function whileLoading<T>(load: () => Promise<T>): Promise<T> {
  return loading.run(true, load);
}

/** Throws within {@link whileLoading}. */
export function refuseWhileLoading(pipeline: string): void {
  if (loading.getStore()) throw new RunWhileLoadingError(pipeline);
}
