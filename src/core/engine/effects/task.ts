import { mkdirSync } from "node:fs";
import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TaskFile } from "../../journal/events.ts";
import { planStep } from "../../journal/state.ts";
import { ownText, thrownText } from "../../kit/clean-text.ts";
import { fileExtension } from "../../kit/file-name.ts";
import { isTooDeep, MOST_LEVELS } from "../../kit/json-text.ts";
import type { TaskStep } from "../../plan/kinds/task.ts";
import type { Json, TaskContext } from "../../plan/plan.ts";
import { isStoreError } from "../media/media-errors.ts";
import { measureMedia } from "../media/media-reader.ts";
import type { MediaStore } from "../media/media-store.ts";
import { heldMedia } from "../media/place-file.ts";
import { done } from "../service/service-answers.ts";
import type { Effect, EffectContext } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";
import { ABORTED, filesOf, localCode, localInput, thrownError, unlessAborted } from "./local-code.ts";

const MAX_VALUE_BYTES = 1024 * 1024;
const ENDINGS = { image: "image/png", video: "video/mp4", audio: "audio/wav", text: "text/plain" } as const;

class TaskContractError extends Error {
  readonly code = "TASK_CONTRACT";
}

/** Calls a local function. If the run stops meanwhile, the function's result is discarded. */
export const task: Effect<"task"> = async (command, context) => {
  const { step } = command;
  const found = localCode(context, step, "task");
  if ("without" in found) return found.without;
  const { code } = found;
  const files = filesOf(command.input);
  const without = files.length === 0 ? null : await withoutCopies(files, context);
  if (without !== null) return without;
  const plan = planStep(context.state, step) as TaskStep;
  const folder = new TaskFolder(context.media, plan);
  const held = files.length === 0 ? nothingHeld : await context.media.hold(files);
  let running: Promise<unknown> | null = null;
  try {
    const input = localInput(command.input, held);
    const given = code.run(input, taskContext(context, step, folder));
    if (isThenable(given)) running = Promise.resolve(given);
    const returned = running === null ? given : await unlessAborted(running, context.signal);
    if (returned === ABORTED || context.signal.aborted) return done();
    const value = jsonValue(returned);
    const outputs = plan.files.length === 0 ? [] : await collectOutputs(plan, folder, context);
    return done({ type: "task.completed", step, value, files: outputs });
  } catch (error) {
    if (context.signal.aborted) return done();
    if (isStoreError(error)) throw error;
    return done({ type: "task.failed", step, error: thrownError(error, "TASK_FAILED") });
  } finally {
    const leave = async () => {
      await held[Symbol.asyncDispose]();
      await folder.remove();
    };
    // A function that ignores its abort signal keeps its files and folder until it returns.
    if (context.signal.aborted && running !== null) running.catch(() => {}).finally(leave);
    else if (files.length > 0 || folder.isThere) await leave();
  }
};

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}

const nothingHeld = heldMedia(new Map());

class TaskFolder {
  readonly #media: MediaStore;
  readonly #files: TaskStep["files"];
  #path: string | null = null;

  constructor(media: MediaStore, { files }: TaskStep) {
    this.#media = media;
    this.#files = files;
  }

  get isThere(): boolean {
    return this.#path !== null;
  }

  get names(): readonly string[] {
    return this.#files.map(({ name }) => name);
  }

  path(): string {
    if (this.#path !== null) return this.#path;
    const path = this.#media.tmpPath();
    mkdirSync(path, { mode: 0o700 });
    this.#path = path;
    return path;
  }

  file(name: string): string | undefined {
    const declared = this.#files.find((file) => file.name === name);
    return declared === undefined ? undefined : pathOf(this.path(), name, declared.kind);
  }

  async remove(): Promise<void> {
    if (this.#path !== null) await rm(this.#path, { recursive: true, force: true }).catch(() => {});
  }
}

function taskContext({ signal, progress }: EffectContext, step: string, folder: TaskFolder): TaskContext {
  return {
    signal,
    get folder() {
      return folder.path();
    },
    file(name) {
      const path = folder.file(name);
      if (path !== undefined) return path;
      const { names } = folder;
      const declared = names.length === 0 ? "which declares no files" : `which declares ${names.join(", ")}`;
      throw new TaskContractError(`the file ${JSON.stringify(name)} is not declared by ${step}, ${declared}`);
    },
    progress(fraction) {
      const known = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : null;
      progress({ step, fraction: known, estimatedCompletionAt: null });
    },
  };
}

function pathOf(folder: string, name: string, kind: TaskStep["files"][number]["kind"]): string {
  return join(folder, /\.[A-Za-z0-9]{1,5}$/.test(name) ? name : `${name}${fileExtension(ENDINGS[kind])}`);
}

async function collectOutputs(
  plan: TaskStep,
  folder: TaskFolder,
  { media }: EffectContext,
): Promise<readonly TaskFile[]> {
  const files: TaskFile[] = [];
  for (const [index, { name, kind }] of plan.files.entries()) {
    const path = folder.file(name)!;
    const found = await lstat(path).catch(() => null);
    if (found === null)
      throw new TaskContractError(
        `the function did not write its file "${name}"; write it to the path that file("${name}") returns`,
      );
    if (!found.isFile() || found.size === 0) {
      throw new TaskContractError(`the file "${name}" is ${found.isFile() ? "empty" : "not a plain file"}`);
    }
    const facts = await measureMedia(path, kind);
    if ("fault" in facts) throw new TaskContractError(`the file "${name}" should be ${kind}, but ${facts.fault}`);
    const { sha256, sizeBytes } = await media.adopt(path);
    const produced = { status: "COMPLETED", assetId: null, voiceId: null, error: null } as const;
    files.push({ name, index, ...produced, ...facts, contentType: ownText(facts.contentType), sha256, sizeBytes });
  }
  return files;
}

function jsonValue(returned: unknown): Json {
  if (returned === undefined || returned === null) return null;
  if (typeof returned === "boolean") return returned;
  // JSON has no -0.
  if (Number.isFinite(returned)) return (returned as number) + 0;
  let text: string | undefined;
  try {
    text = JSON.stringify(returned, (_key, value: unknown) => {
      if (typeof value === "number" && !Number.isFinite(value)) throw new TaskContractError(`it contains ${value}`);
      if (typeof value === "function" || typeof value === "symbol")
        throw new TaskContractError(`it contains a ${typeof value}`);
      return value;
    });
  } catch (error) {
    const text = thrownText(error);
    throw new TaskContractError(`the return value is not JSON: ${text}`);
  }
  if (text === undefined) throw new TaskContractError("the return value is not JSON");
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) {
    throw new TaskContractError(`the return value exceeds ${MAX_VALUE_BYTES} bytes; write large results to a file`);
  }
  const value = JSON.parse(text) as Json;
  if (isTooDeep(value)) throw new TaskContractError(`the return value is nested deeper than ${MOST_LEVELS} levels`);
  return value;
}
