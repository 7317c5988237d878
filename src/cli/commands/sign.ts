import { readFile, stat } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import type { Claim, DigitalSourceType } from "../../core/marks/index.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Flags } from "../program/flags.ts";
import { visible, visibleError } from "../text/escape.ts";

const USAGE = "showrunner sign FILE --cert CHAIN.pem --key KEY.pem";

interface Signed {
  readonly file: string;
  readonly signed: string;
  readonly digital_source_type: DigitalSourceType;
  /** Whether models and ingredients are those of the manifest beside the file. */
  readonly from_manifest: boolean;
}

/** `showrunner sign`: copies of files, signed with content credentials that say how they were made. */
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
      done.push({ file, signed: out, digital_source_type: digitalSourceType, from_manifest: isOfManifest });
      if (!flags.json) output.print(visible(out));
      if (!isOfManifest)
        output.say(`No manifest of these bytes lies beside ${visible(file)}: signed without models and ingredients.`);
    } catch (error) {
      if (error instanceof CliError) throw error;
      const next = error instanceof CredentialsError ? error.next : null;
      throw new CliError("USAGE", `${visible(file)}: ${visibleError(error)}`, { next: next ?? USAGE, cause: error });
    }
  }
  if (flags.json) output.printJson(done);
  return ExitCode.done;
}

async function pem(cwd: string, flag: string, file: string | undefined): Promise<string> {
  if (file === undefined) throw new CliError("USAGE", `sign needs ${flag}, a PEM file`, { next: USAGE });
  try {
    return await readFile(resolve(cwd, file), "utf8");
  } catch (error) {
    throw new CliError("USAGE", `${flag} ${visible(file)} cannot be read: ${visibleError(error)}`, { next: USAGE });
  }
}

/** Beside each file, or as `--out` says: a folder that is there, or for a single file its name. */
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
    throw new CliError("USAGE", `--out ${visible(out)} is no folder, and there are ${files.length} files`, {
      next: "make the folder, or sign one file at a time",
    });
  const targets = isFolder ? files.map((file) => join(target, basename(file))) : [target];
  if (new Set(targets).size < targets.length)
    throw new CliError("USAGE", "two of the files have the same name", { next: "sign them into different folders" });
  return targets;
}

/** From the manifest beside the file where it is of these bytes; the source type else from the flag or the file's own mark. */
async function claimFor(file: string, path: string, given: DigitalSourceType | undefined) {
  const { claimOf, fileHash, readManifest } = await import("../../internal.ts");
  const { readMarks, sourceTypes } = await import("../../core/marks/index.ts");
  const manifest = await readManifest(path);
  const isOfManifest = manifest !== null && manifest.file.sha256 === (await fileHash(path));
  const known = isOfManifest ? claimOf(manifest) : null;
  const said = (await readMarks(path)).digitalSourceType;
  const digitalSourceType = given ?? known?.digitalSourceType ?? sourceTypes.find((type) => said?.endsWith(`/${type}`));
  if (digitalSourceType === undefined)
    throw new CliError(
      "USAGE",
      `Nothing says how ${visible(file)} was made: no manifest of its bytes, and no mark in it`,
      {
        next: `showrunner sign ${visible(file)} --source-type trainedAlgorithmicMedia --cert CHAIN.pem --key KEY.pem`,
      },
    );
  const bare = { models: [], description: "Made with Showrunner", ingredients: [] };
  const claim: Claim = { ...(known ?? bare), digitalSourceType };
  return { claim, isOfManifest };
}
