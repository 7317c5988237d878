import { resolve } from "node:path";
import type { Manifest } from "../../internal.ts";
import type { FileMarks } from "../../marks/index.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { visible, visibleError } from "../text/escape.ts";

/** What a file says of itself, and what lies beside it. */
interface ShownFile extends FileMarks {
  readonly file: string;
  readonly manifest: ManifestBeside | null;
}

interface ManifestBeside extends Pick<Manifest, "run" | "models"> {
  readonly step: string;
  /** Whether it is of the bytes that the file has now. */
  readonly matches: boolean;
}

/** `showrunner marks`: what files say of how they came about. */
export async function marks(
  { io, output }: Context,
  files: readonly string[],
  flags: { readonly json?: boolean },
): Promise<ExitCode> {
  const shown: ShownFile[] = [];
  for (const file of files) shown.push(await readFileMarks(file, resolve(io.cwd, file)));
  if (flags.json) output.printJson(shown.map(document));
  else output.print(shown.map(lines).join("\n"));
  return ExitCode.done;
}

async function readFileMarks(file: string, path: string): Promise<ShownFile> {
  const { readMarks } = await import("../../marks/index.ts");
  try {
    return { file, ...(await readMarks(path)), manifest: await manifestBeside(path) };
  } catch (error) {
    throw new CliError("USAGE", `${visible(file)} cannot be read: ${visibleError(error)}`, {
      next: "showrunner marks FILE",
    });
  }
}

async function manifestBeside(path: string): Promise<ManifestBeside | null> {
  const { fileHash, readManifest } = await import("../../internal.ts");
  const manifest = await readManifest(path);
  if (manifest === null) return null;
  const { run, models, made_by, file } = manifest;
  return { run, step: made_by.step, models, matches: (await fileHash(path)) === file.sha256 };
}

const CREDENTIALS = {
  embedded: "C2PA manifest in the file; its signature is not checked here",
  linked: "C2PA manifest elsewhere, named by the file; not fetched",
} as const;

function lines({ file, contentType, digitalSourceType, contentCredentials, problem, manifest }: ShownFile): string {
  const said = [
    ["source type", problem ?? digitalSourceType ?? "none"],
    ["credentials", contentCredentials === null ? "none" : CREDENTIALS[contentCredentials]],
    ["manifest", manifest === null ? "none beside it" : besideText(manifest)],
  ] as const;
  const head = contentType === null ? visible(file) : `${visible(file)} (${contentType})`;
  return [head, ...said.map(([name, text]) => `  ${name.padEnd(12)} ${visible(text)}`)].join("\n");
}

function besideText({ run, step, models, matches }: ManifestBeside): string {
  const made = `run ${run}, step ${step}${models.length === 0 ? "" : `, made with ${models.join(", ")}`}`;
  return matches ? made : `${made}; the file was changed since`;
}

function document({ file, contentType, digitalSourceType, contentCredentials, problem, manifest }: ShownFile) {
  return {
    file,
    content_type: contentType,
    digital_source_type: digitalSourceType,
    content_credentials: contentCredentials,
    problem,
    manifest,
  };
}
