import { constants } from "node:fs";
import { copyFile, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Context, journalFileOf, mediaDirOf, type ServiceFlags } from "../context.ts";

/** A result of a step that a person reviews. */
export interface Reviewed {
  readonly runId: string;
  readonly step: string;
  readonly index: number;
  readonly sha256: string;
  readonly contentType: string | null;
}

/** Gives our copy of a result a name that says what it is and an ending that programs open it by; its path. */
export type ReviewFiles = (result: Reviewed) => Promise<string>;

/** Copies stand in a folder of their own beside the journal: the store's are shared, and an editor must not change them. */
export async function reviewFiles({ io }: Context, flags: ServiceFlags): Promise<ReviewFiles> {
  const { fileExtension, openMediaStore } = await import("../../index.ts");
  const store = await openMediaStore(mediaDirOf(io, flags));
  const folder = join(dirname(journalFileOf(io, flags)), "review");
  return async ({ runId, step, index, sha256, contentType }) => {
    const name = `${step.replaceAll("/", "_")}-${index + 1}-${sha256.slice(0, 8)}`;
    const file = join(folder, runId, `${name}${contentType === null ? "" : fileExtension(contentType)}`);
    const source = store.path(sha256);
    if (await isThere(file, source)) return file;
    await mkdir(dirname(file), { recursive: true });
    await copyFile(source, file, constants.COPYFILE_FICLONE);
    return file;
  };
}

async function isThere(file: string, source: string): Promise<boolean> {
  const [known, requested] = await Promise.all([stat(file).catch(() => null), stat(source)]);
  return known?.size === requested.size;
}
