import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");

/** Folder of generators and scenarios, which is separate because the generators need an older TypeScript compiler. */
export const folder = join(root, "test/local-service/generated-clients");

/** Runs a program from the generators' folder with the current Node. */
const generate = (program: string, ...args: readonly string[]) =>
  run(process.execPath, [join(folder, "node_modules", program), ...args], { cwd: folder });

/** Installs the packages in a folder's lock file if they are missing. Returns null, or why this failed. */
export async function install(where = folder): Promise<string | null> {
  const lock = readFileSync(join(where, "package-lock.json"), "utf8");
  const installedLock = join(where, "node_modules/.lock-installed.json");
  if (existsSync(installedLock) && readFileSync(installedLock, "utf8") === lock) return null;
  const npm = process.env["npm_execpath"];
  const [program, ...args] = npm ? [process.execPath, npm] : ["npm"];
  try {
    const flags = ["ci", "--prefix", where, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries", "1"];
    await run(program ?? "npm", [...args, ...flags], { cwd: where });
  } catch (error) {
    return `the packages of ${relative(root, where)} cannot be installed: ${String(error)}`;
  }
  writeFileSync(installedLock, lock);
  return null;
}

/** Lints a document and returns the errors with their places. */
export async function lintErrors(document: string): Promise<readonly string[]> {
  const input = join(folder, "generated/linted.json");
  writeFileSync(input, document);
  const linted = await generate("@redocly/cli/bin/cli.js", "lint", input, "--format=json").catch(
    (error: { readonly stdout: string }) => error,
  );
  const { problems } = JSON.parse(linted.stdout) as {
    readonly problems: readonly { severity: string; message: string; location: readonly { pointer?: string }[] }[];
  };
  return problems
    .filter(({ severity }) => severity === "error")
    .map(({ message, location: [at] }) => `${at?.pointer}: ${message}`);
}

/** Generates a client with each generator's default settings. @throws if a generator does not accept the document */
export async function generateClients(document: string): Promise<void> {
  const input = join(folder, "generated/openapi.json");
  writeFileSync(input, document);
  const types = join(folder, "generated/openapi-typescript.d.ts");
  await generate("openapi-typescript/bin/cli.js", input, "-o", types);
  await generate("@hey-api/openapi-ts/bin/run.js", "-i", input, "-o", join(folder, "generated/hey-api"), "--silent");
  const swagger = join(folder, "generated/swagger-typescript-api");
  await generate(
    "swagger-typescript-api/dist/cli.mjs",
    "generate",
    "-p",
    input,
    "-o",
    swagger,
    "-n",
    "api.ts",
    "--silent",
  );
  await generate("orval/dist/bin/orval.js", "--input", input, "--output", join(folder, "generated/orval/api.ts"));
}

/** The compiler's messages about the generated clients and the code that uses them. */
export async function typeProblems(): Promise<string> {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const checked = run(process.execPath, [tsc, "-p", folder]);
  return checked.then(
    () => "",
    (error: { readonly stdout?: string }) => error.stdout || String(error),
  );
}
