import { Worker } from "node:worker_threads";
import { CallerError } from "../../kit/errors.ts";
import type { Isolation } from "../../plan/draft.ts";

/** What a function in a thread of its own works on. Plain data, which is copied. */
interface IsolatedWork {
  readonly input: unknown;
  readonly folder: string;
  /** Paths of declared files by their names. */
  readonly files: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly progress: (fraction: number) => void;
}

/** The thread was ended, or ended by itself, before the function returned. */
class IsolatedTaskError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What the function threw, from where it threw it. */
function thrownBy({
  code = "TASK_FAILED",
  message,
  stack,
}: Extract<Said, { readonly threw: unknown }>["threw"]): Error {
  return Object.assign(new IsolatedTaskError(code, message), stack !== undefined && { stack });
}

type Said =
  | { readonly progress: number }
  | { readonly returned: unknown }
  | {
      readonly threw: {
        readonly message: string;
        readonly code?: string | undefined;
        readonly stack?: string | undefined;
        readonly forCallers: boolean;
      };
    };

/** No entry of its own: it is the same in sources and in the package. */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const { module, name, input, folder, files } = workerData;
const stop = new AbortController();
const file = (one) => {
  if (Object.hasOwn(files, one)) return files[one];
  throw new Error("file(" + JSON.stringify(one) + ") was not declared; declared are: " + Object.keys(files).join(", "));
};
const progress = (fraction) => parentPort.postMessage({ progress: Number(fraction) });
(async () => {
  const run = (await import(module))[name];
  if (typeof run !== "function") throw new Error(module + " exports no function " + name);
  parentPort.postMessage({ returned: await run(input, { signal: stop.signal, folder, file, progress }) });
})().catch((error) => {
  const code = typeof error?.code === "string" ? error.code : undefined;
  const stack = typeof error?.stack === "string" ? error.stack : undefined;
  const forCallers = error instanceof Error && Symbol.for("showrunner.for-callers") in error;
  parentPort.postMessage({ threw: { message: String(error?.message ?? error), code, stack, forCallers } });
});
`;

/**
 * Runs an exported function in a thread of its own, which is ended at its time limit, when it needs more memory than it may
 * have, and when the run stops, whatever it is at.
 */
export async function runIsolated({ module, name, timeoutMs, memoryMb }: Isolation, work: IsolatedWork) {
  const { signal, progress, ...data } = work;
  const thread = new Worker(THREAD, {
    eval: true,
    workerData: { module, name, ...data },
    execArgv: ["--disable-warning=ExperimentalWarning"],
    name: `task ${name}`,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  let timer: NodeJS.Timeout | undefined;
  let stop: () => void = () => {};
  try {
    return await new Promise<unknown>((resolve, reject) => {
      const end = (code: string, message: string) => reject(new IsolatedTaskError(code, message));
      stop = () => end("TASK_STOPPED", "the run was stopped");
      timer = setTimeout(() => end("TASK_TIMEOUT", `it did not end within its ${timeoutMs} ms`), timeoutMs);
      signal.addEventListener("abort", stop, { once: true });
      thread.on("error", reject);
      thread.on("exit", (exitCode) => end("TASK_ENDED", `its thread ended with code ${exitCode} before it returned`));
      thread.on("message", (said: Said) => {
        if ("progress" in said) progress(said.progress);
        else if ("returned" in said) resolve(said.returned);
        else reject(said.threw.forCallers ? new CallerError(said.threw.message) : thrownBy(said.threw));
      });
      if (signal.aborted) stop();
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await thread.terminate();
  }
}
