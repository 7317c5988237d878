import { readFile, stat } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import { toDocument } from "../../core/kit/document.ts";
import type { Claim, Credentials, DigitalSourceType, FileMarks } from "../../core/marks/index.ts";
import type { Manifest } from "../../index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible, visibleError } from "../text/escape.ts";

interface ShownFile extends FileMarks {
  readonly file: string;
  readonly manifest: ManifestBeside | null;
  /** `unread` means that the package that reads credentials is not installed. */
  readonly signed: Credentials | "unread" | null;
}

interface ManifestBeside extends Pick<Manifest, "run" | "models"> {
  readonly step: string;
  readonly matches: boolean;
}

export async function marks(
  { io, output }: Context,
  files: readonly string[],
  flags: { readonly trust?: string; readonly json?: boolean },
): Promise<ExitCode> {
  const trust = flags.trust === undefined ? undefined : await certificates(io.cwd, flags.trust);
  const options = { folder: io.cwd, ...(trust !== undefined && { trust }) };
  const shown: ShownFile[] = [];
  for (const file of files) shown.push(await readFileMarks(file, resolve(io.cwd, file), options));
  if (flags.json) output.printJson(toDocument(shown));
  else output.print(shown.map(lines).join("\n"));
  return ExitCode.done;
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
  const { readCredentials, readMarks } = await import("../../core/marks/index.ts");
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
  const { fileHash, readManifest } = await import("../input/manifest.ts");
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
  trusted: "valid, signed by a signer you trust",
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

interface Signed {
  readonly file: string;
  readonly signed: string;
  readonly digitalSourceType: DigitalSourceType;
  /** Whether models and ingredients come from the manifest next to the file. */
  readonly fromManifest: boolean;
}

export async function sign({ io, output }: Context, files: readonly string[], flags: Flags["sign"]): Promise<ExitCode> {
  const { signFile, CredentialsError } = await import("../../core/marks/index.ts");
  const pair = { certificate: await pem(io.cwd, "--cert", flags.cert), key: await pem(io.cwd, "--key", flags.key) };
  const targets = await targetsOf(io.cwd, files, flags.out);
  const done: Signed[] = [];
  for (const [index, file] of files.entries()) {
    const [path, out] = [resolve(io.cwd, file), targets[index]!];
    try {
      const { claim, isOfManifest } = await claimFor(file, path, flags.sourceType);
      await signFile(path, { ...pair, claim, out, folder: io.cwd });
      const { digitalSourceType } = claim;
      done.push({ file, signed: out, digitalSourceType, fromManifest: isOfManifest });
      if (!flags.json) output.print(visible(out));
      if (!isOfManifest)
        output.say(
          `${visible(file)} has no matching manifest next to it, so it was signed without models and ingredients.`,
        );
    } catch (error) {
      if (error instanceof CliError) throw error;
      const next = error instanceof CredentialsError ? error.next : null;
      throw usageError(`${visible(file)}: ${visibleError(error)}`, next ?? USAGE, error);
    }
  }
  if (flags.json) output.printJson(toDocument(done));
  return ExitCode.done;
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
  const isFolder = await stat(target).then(
    (there) => there.isDirectory(),
    () => false,
  );
  if (!isFolder && files.length > 1)
    throw usageError(
      `--out ${visible(out)} must be an existing folder to sign ${files.length} files`,
      "create the folder, or sign one file at a time",
    );
  const targets = isFolder ? files.map((file) => join(target, basename(file))) : [target];
  if (new Set(targets).size < targets.length)
    throw usageError("two of the files have the same name", "sign them to different folders");
  return targets;
}

/** Uses the manifest only if its hash matches the file. */
async function claimFor(file: string, path: string, given: DigitalSourceType | undefined) {
  const { claimOf, fileHash, readManifest } = await import("../input/manifest.ts");
  const { readMarks, sourceTypes } = await import("../../core/marks/index.ts");
  const said = (await readMarks(path)).digitalSourceType;
  const manifest = await readManifest(path);
  const isOfManifest = manifest !== null && manifest.file.sha256 === (await fileHash(path));
  const known = isOfManifest ? claimOf(manifest) : null;
  const digitalSourceType = given ?? known?.digitalSourceType ?? sourceTypes.find((type) => said?.endsWith(`/${type}`));
  if (digitalSourceType === undefined)
    throw usageError(
      `The source type of ${visible(file)} is unknown: it has no matching manifest and no mark`,
      `showrunner sign ${visible(file)} --source-type trainedAlgorithmicMedia --cert CHAIN.pem --key KEY.pem`,
    );
  const bare = { models: [], description: "Made with Showrunner", ingredients: [] };
  const claim: Claim = { ...(known ?? bare), digitalSourceType };
  return { claim, isOfManifest };
}
