import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { toDocument } from "../../core/kit/document.ts";
import {
  type Claim,
  type Credentials,
  CredentialsError,
  type DigitalSourceType,
  type FileMarks,
  type Ingredient,
  readCredentials,
  readMarks,
  signFile,
  sourceTypes,
} from "../../core/marks/index.ts";
import { type Json, type Manifest, manifestSchema } from "../../index.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { kindOf } from "../input/named-file.ts";
import type { Flags } from "../program/flags.ts";
import { visible, visibleError } from "../text/escape.ts";

interface ShownFile extends FileMarks {
  readonly file: string;
  readonly manifest: ManifestBeside | null;
  /** The file's content credentials. `unread` means that the package that reads them is not installed. */
  readonly signed: Credentials | "unread" | null;
}

interface ManifestBeside extends Pick<Manifest, "run" | "models"> {
  readonly step: string;
  readonly matches: boolean;
}

export async function marks({ io, output }: Context, files: readonly string[], flags: Flags["marks"]): Promise<void> {
  const trust = flags.trust === undefined ? undefined : await certificates(io.cwd, flags.trust);
  const options = { folder: io.cwd, ...(trust !== undefined && { trust }) };
  const shown: ShownFile[] = [];
  for (const file of files) shown.push(await readFileMarks(file, resolve(io.cwd, file), options));
  output.result(toDocument(shown), shown.map(lines).join("\n"));
}

async function certificates(cwd: string, file: string): Promise<string> {
  const trust = await readFile(resolve(cwd, file), "utf8").catch((error: unknown) => visibleError(error));
  if (trust.includes("-----BEGIN CERTIFICATE-----")) return trust;
  throw usageError(`--trust ${visible(file)} contains no PEM certificate`, "showrunner marks FILE --trust ROOTS.pem");
}

async function readFileMarks(
  file: string,
  path: string,
  options: { readonly folder: string; readonly trust?: string },
): Promise<ShownFile> {
  try {
    const said = await readMarks(path);
    // `readMarks` does not recognize every format that can be signed, so also try files of an unknown type.
    const mayBeSigned = said.contentCredentials === "embedded" || said.contentType === null;
    const signed = mayBeSigned ? await readCredentials(path, options) : null;
    return { file, ...said, manifest: await manifestBeside(path), signed };
  } catch (error) {
    throw usageError(`${visible(file)} cannot be read: ${visibleError(error)}`, "showrunner marks FILE");
  }
}

async function manifestBeside(path: string): Promise<ManifestBeside | null> {
  const manifest = await readManifest(path);
  if (manifest === null) return null;
  const { run, models, made_by, file } = manifest;
  return { run, step: made_by.step, models, matches: (await fileHash(path)) === file.sha256 };
}

const CREDENTIALS = {
  embedded: "C2PA manifest in the file; to check its signature, install @contentauth/c2pa-node",
  linked: "C2PA manifest linked from the file; not fetched",
} as const;

const STATES = {
  trusted: "valid, and signed by someone you trust",
  "unknown-signer": "valid, signed by an unknown signer",
  tampered: "TAMPERED: changed after signing",
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
    ["manifest", manifest === null ? "none next to the file" : besideText(manifest)],
  ] as const;
  const head = contentType === null ? visible(file) : `${visible(file)} (${contentType})`;
  return [head, ...said.map(([name, text]) => `  ${name.padEnd(12)} ${visible(text)}`)].join("\n");
}

function besideText({ run, step, models, matches }: ManifestBeside): string {
  const made = `run ${run}, step ${step}${models.length === 0 ? "" : `, made with ${models.join(", ")}`}`;
  return matches ? made : `${made}; the file has changed since`;
}

const USAGE = "showrunner sign FILE --cert CHAIN.pem --key KEY.pem";

export async function sign({ io, output }: Context, files: readonly string[], flags: Flags["sign"]): Promise<void> {
  const pair = { certificate: await pem(io.cwd, "--cert", flags.cert), key: await pem(io.cwd, "--key", flags.key) };
  const targets = await targetsOf(io.cwd, files, flags.out);
  const done = [];
  for (const [index, file] of files.entries()) {
    const [path, out] = [resolve(io.cwd, file), targets[index]!];
    try {
      const { claim, isOfManifest } = await claimFor(file, path, flags.sourceType);
      await signFile(path, { ...pair, claim, out, folder: io.cwd });
      const { digitalSourceType } = claim;
      done.push({ file, signed: out, digitalSourceType, fromManifest: isOfManifest });
      output.print(visible(out));
      if (!isOfManifest)
        output.say(
          `${visible(file)} has no matching manifest next to it, so its Content Credentials list no models or ingredients.`,
        );
    } catch (error) {
      if (error instanceof CliError) throw error;
      const next = error instanceof CredentialsError ? error.next : null;
      throw usageError(`${visible(file)}: ${visibleError(error)}`, next ?? USAGE, error);
    }
  }
  output.printJson(toDocument(done));
}

async function pem(cwd: string, flag: string, file: string | undefined): Promise<string> {
  if (file === undefined) throw usageError(`sign needs ${flag}, a PEM file`, USAGE);
  try {
    return await readFile(resolve(cwd, file), "utf8");
  } catch (error) {
    throw usageError(`${flag} ${visible(file)} cannot be read: ${visibleError(error)}`, USAGE);
  }
}

async function targetsOf(cwd: string, files: readonly string[], out: string | undefined): Promise<readonly string[]> {
  if (out === undefined)
    return files.map((file) =>
      resolve(cwd, `${file.slice(0, file.length - extname(file).length)}.signed${extname(file)}`),
    );
  const target = resolve(cwd, out);
  const isFolder = (await kindOf(target)) === "folder";
  if (!isFolder && files.length > 1)
    throw usageError(
      `--out ${visible(out)} must be an existing folder when you sign ${files.length} files`,
      "create the folder, or sign one file at a time",
    );
  const targets = isFolder ? files.map((file) => join(target, basename(file))) : [target];
  if (new Set(targets).size < targets.length)
    throw usageError("two of the files have the same name", "sign them to different folders");
  return targets;
}

/** Returns the claim to sign for a file. Uses the file's manifest only if it contains the file's current hash. */
async function claimFor(file: string, path: string, given: DigitalSourceType | undefined) {
  const said = (await readMarks(path)).digitalSourceType;
  const manifest = await readManifest(path);
  const isOfManifest = manifest !== null && manifest.file.sha256 === (await fileHash(path));
  const known = isOfManifest ? claimOf(manifest) : null;
  const digitalSourceType = given ?? known?.digitalSourceType ?? sourceTypes.find((type) => said?.endsWith(`/${type}`));
  if (digitalSourceType === undefined)
    throw usageError(
      `The source type of ${visible(file)} is unknown: the file has no matching manifest and no mark`,
      `showrunner sign ${visible(file)} --source-type trainedAlgorithmicMedia --cert CHAIN.pem --key KEY.pem`,
    );
  const bare = { models: [], description: "Made with Showrunner", ingredients: [] };
  const claim: Claim = { ...(known ?? bare), digitalSourceType };
  return { claim, isOfManifest };
}

const MOST_BYTES = 8 * 1024 * 1024;

export async function readManifest(path: string): Promise<Manifest | null> {
  const beside = `${path}.json`;
  try {
    const found = await stat(beside);
    if (!found.isFile() || found.size > MOST_BYTES) return null;
    const read = manifestSchema.safeParse(JSON.parse(await readFile(beside, "utf8")));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

async function fileHash(path: string): Promise<string> {
  const digest = createHash("sha256");
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}

/** Returns what to state in a file's content credentials. Leaves out prompts, which could not be withdrawn later. */
export function claimOf(manifest: Manifest): Omit<Claim, "digitalSourceType"> & {
  readonly digitalSourceType: DigitalSourceType | null;
} {
  const { made_by, run, pipeline, models, steps } = manifest;
  return {
    digitalSourceType: sourceTypeOf(manifest),
    models,
    description: `Made by step ${made_by.step} of run ${run}, pipeline ${pipeline}`,
    ingredients: steps.filter(({ path }) => path !== made_by.step).flatMap(ingredientsOf),
  };
}

function ingredientsOf({ path, kind, model, outputs, input }: Manifest["steps"][number]): readonly Ingredient[] {
  const how = kind === "upload" ? "Uploaded" : model === null ? "Made by a local function" : `Made with ${model}`;
  return outputs.flatMap(({ index, sha256, content_type }) => {
    if (sha256 === null || content_type === null) return [];
    const title = fileIn(input) ?? (index === 0 ? path : `${path} ${index + 1}`);
    return [{ title, contentType: content_type, sha256, description: `${how}: step ${path}` }];
  });
}

function fileIn(input: Json): string | null {
  if (typeof input !== "object" || input === null || !("file" in input)) return null;
  return typeof input.file === "string" ? input.file : null;
}

function sourceTypeOf({ mark, digital_source_type: planned }: Manifest): DigitalSourceType | null {
  const kept = mark?.status === "kept" ? mark.digital_source_type : null;
  return sourceTypes.find((type) => kept === type || kept?.endsWith(`/${type}`)) ?? planned;
}
