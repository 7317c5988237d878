/**
 * Runs `npm test`, or the command after `--`, in environments that differ from a developer's. Without names, runs in
 * all of them. Examples: `node scripts/environments.ts bare`,
 * `node scripts/environments.ts umlaut -- npx vitest run test/package`.
 * Some environments need a copy: it contains all files that git does not ignore, and links to `node_modules`.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { styleText } from "node:util";

const root = join(import.meta.dirname, "..");
const folders = (process.env.PATH ?? "").split(delimiter).filter((one) => !one.includes("node_modules"));
const dash = process.argv.indexOf("--");
const names = process.argv.slice(2, dash < 0 ? undefined : dash);
const command = dash < 0 ? ["npm", "test"] : process.argv.slice(dash + 1);
const temporary = mkdtempSync(join(tmpdir(), "environment-"));
chmodSync(temporary, 0o755);

interface Environment {
  readonly what: string;
  /** Runs the command and returns its exit code; null if the command was killed or could not start. */
  run(): number | null;
}

const environments: Readonly<Record<string, Environment>> = {
  bare: { what: "a fresh machine with only Node, npm, git and a minimal Debian", run: runBare },
  user: { what: "a user other than root", run: runAsUser },
  umlaut: {
    what: "a folder with a space and an umlaut",
    run: () => perform(command, { cwd: copied("Kräne und Boote") }),
  },
  kolkata: { what: "TZ=Asia/Kolkata", run: () => perform(command, { env: { ...process.env, TZ: "Asia/Kolkata" } }) },
  // Node includes this locale. Other programs need it in the C library, and print a warning if it is missing.
  german: { what: "LANG=de_DE.UTF-8", run: () => perform(command, { env: { ...process.env, LANG: "de_DE.UTF-8" } }) },
  offline: { what: "no network but loopback", run: runOffline },
};

const unknown = names.find((name) => !(name in environments));
if (unknown !== undefined) {
  console.error(`Unknown environment ${unknown}; use ${Object.keys(environments).join(", ")}.`);
  process.exit(2);
}
try {
  for (const [name, { what, run }] of Object.entries(environments)) {
    if (names.length > 0 && !names.includes(name)) continue;
    console.log(styleText("bold", `${name}: ${what}`));
    if (run() === 0) continue;
    console.error(styleText("red", `The command failed in ${name} (${what}).`));
    console.error(
      `To run it again: ${["node scripts/environments.ts", name, ...process.argv.slice(2).slice(names.length)].join(" ")}`,
    );
    process.exitCode = 1;
    break;
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

function perform(
  [program = "", ...args]: readonly string[],
  { cwd = root, env = process.env }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): number | null {
  const { status, error } = spawnSync(program, args, { cwd, env, stdio: "inherit" });
  if (error !== undefined) console.error(error.message);
  return status;
}

function output(program: string, ...args: readonly string[]): string {
  const { stdout, stderr, status, error } = spawnSync(program, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`${program} ${args[0]}: ${error?.message ?? stderr}`);
  return stdout;
}

function runBare(): number | null {
  const bin = join(temporary, "bin");
  mkdirSync(bin);
  for (const path of [...["node", "npm", "npx", "git"].map(pathOf), ...debianPrograms()]) {
    const link = join(bin, basename(path));
    if (!existsSync(link)) symlinkSync(realpathSync(path), link);
  }
  const home = join(temporary, "home");
  mkdirSync(home);
  // On some machines, npm needs these settings to reach its registry.
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(?:CI|npm_config_(?:registry|cafile|proxy|https_proxy|noproxy)|NODE_EXTRA_CA_CERTS|HTTPS?_PROXY|NO_PROXY|SSL_CERT_FILE)$/i.test(
      name,
    ),
  );
  return perform(command, { env: { ...Object.fromEntries(kept), PATH: bin, HOME: home } });
}

function pathOf(name: string): string {
  const found = folders.map((folder) => join(folder, name)).find(existsSync);
  if (found === undefined) throw new Error(`${name} is not on the PATH`);
  return found;
}

/** Programs of the packages that every Debian and Ubuntu system has. */
function debianPrograms(): readonly string[] {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg's own fields
  const packages = output("dpkg-query", "-Wf", "${Essential} ${Priority} ${Package}\n")
    .split("\n")
    .filter((line) => /^yes | required /.test(line))
    .map((line) => line.split(" ")[2]!);
  const files = output("dpkg", "-L", ...packages).split("\n");
  const programs = files.filter((path) => /^(?:\/usr)?\/s?bin\/[^/]+$/.test(path) && existsSync(path));
  return [...programs, ...["/usr/bin/awk", "/usr/bin/sh"].filter(existsSync)];
}

/** Copies this repository, except the files that git ignores, to a folder with this name. Links `node_modules`. */
function copied(name: string): string {
  const copy = join(temporary, name);
  const given = ["clone", "--quiet", "--no-hardlinks", root, copy];
  if (perform(["git", ...given]) !== 0) throw new Error("the repository could not be cloned");
  const changed = output("git", "ls-files", "-z", "--modified", "--others", "--exclude-standard", "--deduplicate");
  for (const file of changed.split("\0").filter((one) => one !== "")) {
    if (existsSync(join(root, file))) cpSync(join(root, file), join(copy, file), { recursive: true });
    else rmSync(join(copy, file), { force: true });
  }
  const modules = join(root, "node_modules");
  mkdirSync(join(copy, "node_modules"));
  // Omits caches, which may change while being copied. Uses hard links if both folders are on the same disk.
  const packages = globSync("*", { cwd: modules }).map((name) => join(modules, name));
  const installed = [...packages, ...[".bin", ".package-lock.json"].map((name) => join(modules, name))];
  for (const flags of ["-al", "-af"])
    if (perform(["cp", flags, ...installed, join(copy, "node_modules")]) === 0) return copy;
  throw new Error("node_modules could not be copied");
}

function runAsUser(): number | null {
  if (process.getuid?.() !== 0) return perform(command);
  const copy = copied("users");
  const home = join(temporary, "of-nobody");
  mkdirSync(home);
  // A hard link shares its owner with the original file, so only the owner of the folders is changed.
  perform(["find", join(copy, "node_modules"), "-type", "d", "-exec", "chown", "nobody", "{}", "+"]);
  const own = globSync("*", { cwd: copy, exclude: ["node_modules"] }).map((one) => join(copy, one));
  perform(["chown", "-R", "nobody", home, join(copy, ".git"), ...own]);
  perform(["chown", "nobody", copy]);
  // Another user cannot write to the caches of root.
  const { NODE_COMPILE_CACHE: _, npm_config_cache: __, ...env } = process.env;
  const as = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"];
  return perform([...as, ...command], { cwd: copy, env: { ...env, HOME: home, TMPDIR: home, USER: "nobody" } });
}

function runOffline(): number | null {
  const inside = 'ip link set lo up && exec "$@"';
  const own = process.getuid?.() === 0 ? ["-n"] : ["-rn"];
  return perform(["unshare", ...own, "sh", "-c", inside, "sh", ...command]);
}
