import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import type { Io } from "../io.ts";
import { visible } from "../text/escape.ts";

export interface SecretSources {
  /** Given as a flag's value, where every process of the machine can read it. */
  readonly shown: string | undefined;
  readonly file: string | undefined;
  readonly variable: string;
  /** The flag that names the file. */
  readonly fileFlag: string;
}

/** A secret by its safest source: a file, the environment, else the command line with a warning. Undefined: none given. */
export async function readSecret(
  { cwd, env }: Io,
  { shown, file, variable, fileFlag }: SecretSources,
  warn: (text: string) => void,
): Promise<string | undefined> {
  if (file !== undefined) return fromFile(resolve(cwd, file), fileFlag);
  if (shown === undefined) return env[variable]?.trim() || undefined;
  warn(`A secret on the command line is seen by every process of this machine: use ${fileFlag}, or ${variable}.`);
  return shown;
}

async function fromFile(path: string, flag: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (cause) {
    const message = `${flag} ${visible(path)} cannot be read`;
    throw new CliError("USAGE", message, { next: "name a file that holds the secret alone", cause });
  }
}
