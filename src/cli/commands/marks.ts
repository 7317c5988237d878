import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Credentials, FileMarks } from "../../core/marks/index.ts";
import type { Manifest } from "../../internal.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { visible, visibleError } from "../text/escape.ts";

/** What a file says of itself, and what lies beside it. */
interface ShownFile extends FileMarks {
  readonly file: string;
  readonly manifest: ManifestBeside | null;
  /** What its signed manifest says; `unread` where the package that reads it is not installed. */
  readonly signed: Credentials | "unread" | null;
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
  flags: { readonly trust?: string; readonly json?: boolean },
): Promise<ExitCode> {
  const trust = flags.trust === undefined ? undefined : await certificates(io.cwd, flags.trust);
  const options = { folder: io.cwd, ...(trust !== undefined && { trust }) };
  const shown: ShownFile[] = [];
  for (const file of files) shown.push(await readFileMarks(file, resolve(io.cwd, file), options));
  if (flags.json) output.printJson(shown.map(document));
  else output.print(shown.map(lines).join("\n"));
  return ExitCode.done;
}

async function certificates(cwd: string, file: string): Promise<string> {
  const trust = await readFile(resolve(cwd, file), "utf8").catch((error: unknown) => visibleError(error));
  if (trust.includes("-----BEGIN CERTIFICATE-----")) return trust;
  throw new CliError("USAGE", `--trust ${visible(file)} has no certificate in PEM form`, {
    next: "showrunner marks FILE --trust ROOTS.pem",
  });
}

async function readFileMarks(
  file: string,
  path: string,
  options: { readonly folder: string; readonly trust?: string },
): Promise<ShownFile> {
  const { readCredentials, readMarks } = await import("../../core/marks/index.ts");
  try {
    const said = await readMarks(path);
    // Of other formats that can be signed only the package knows.
    const mayBeSigned = said.contentCredentials === "embedded" || said.contentType === null;
    const signed = mayBeSigned ? await readCredentials(path, options) : null;
    return { file, ...said, manifest: await manifestBeside(path), signed };
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
  embedded:
    "C2PA manifest in the file; the package @contentauth/c2pa-node, which checks its signature, is not installed",
  linked: "C2PA manifest elsewhere, named by the file; not fetched",
} as const;

const STATES = {
  trusted: "valid, signed by one you trust",
  "unknown-signer": "valid, by a signer that nothing here vouches for",
  tampered: "TAMPERED: changed after it was signed",
  invalid: "INVALID",
} as const;

function credentialsText({ contentCredentials, signed }: ShownFile): string {
  if (signed === null || signed === "unread")
    return contentCredentials === null ? "none" : CREDENTIALS[contentCredentials];
  const { state, signer, digitalSourceTypes, ingredients, failures } = signed;
  return [
    `${STATES[state]}${state === "invalid" ? ` (${failures.join(", ")})` : ""}`,
    ...(signer === null ? [] : [`signer: ${signer}`]),
    ...digitalSourceTypes,
    ...(ingredients.length === 0 ? [] : [`made from ${ingredients.join(", ")}`]),
  ].join("; ");
}

function lines(shown: ShownFile): string {
  const { file, contentType, digitalSourceType, problem, manifest } = shown;
  const said = [
    ["source type", problem ?? digitalSourceType ?? "none"],
    ["credentials", credentialsText(shown)],
    ["manifest", manifest === null ? "none beside it" : besideText(manifest)],
  ] as const;
  const head = contentType === null ? visible(file) : `${visible(file)} (${contentType})`;
  return [head, ...said.map(([name, text]) => `  ${name.padEnd(12)} ${visible(text)}`)].join("\n");
}

function besideText({ run, step, models, matches }: ManifestBeside): string {
  const made = `run ${run}, step ${step}${models.length === 0 ? "" : `, made with ${models.join(", ")}`}`;
  return matches ? made : `${made}; the file was changed since`;
}

function document(shown: ShownFile) {
  const { file, contentType, digitalSourceType, contentCredentials, problem, manifest, signed } = shown;
  return {
    file,
    content_type: contentType,
    digital_source_type: digitalSourceType,
    content_credentials: contentCredentials,
    problem,
    manifest,
    signed:
      signed === null || signed === "unread"
        ? signed
        : {
            state: signed.state,
            signer: signed.signer,
            digital_source_types: signed.digitalSourceTypes,
            ingredients: signed.ingredients,
            failures: signed.failures,
          },
  };
}
