/**
 * Runs `npm test`, or the command behind `--`, in environments that differ from a developer's: `node scripts/environments.ts bare`,
 * `node scripts/environments.ts umlaut -- npx vitest run test/package`; all of them where none is named. Those that work on a copy
 * copy what git knows of, and the folder `node_modules` by links.
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
  /** Answers the exit code of the command. */
  run(): number | null;
}

const environments: Readonly<Record<string, Environment>> = {
  bare: { what: "what a fresh machine has: Node, npm, git, and a minimal Debian", run: runBare },
  user: { what: "another user than root", run: runAsUser },
  umlaut: {
    what: "a folder with a space and an umlaut",
    run: () => perform(command, { cwd: copied("Kräne und Boote") }),
  },
  kolkata: { what: "TZ=Asia/Kolkata", run: () => perform(command, { env: { ...process.env, TZ: "Asia/Kolkata" } }) },
  // Node has the language by itself; whether the C library has it too decides over programs that tests start, which say so.
  german: { what: "LANG=de_DE.UTF-8", run: () => perform(command, { env: { ...process.env, LANG: "de_DE.UTF-8" } }) },
  offline: { what: "no network but loopback", run: runOffline },
};

const unknown = names.find((name) => !(name in environments));
if (unknown !== undefined) {
  console.error(`there is no environment ${unknown}: ${Object.keys(environments).join(", ")}`);
  process.exit(2);
}
try {
  for (const [name, { what, run }] of Object.entries(environments)) {
    if (names.length > 0 && !names.includes(name)) continue;
    console.log(styleText("bold", `${name}: ${what}`));
    if (run() === 0) continue;
    console.error(styleText("red", `failed in ${name} (${what})`));
    console.error(
      `repeat it: ${["node scripts/environments.ts", name, ...process.argv.slice(2).slice(names.length)].join(" ")}`,
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
  // What npm needs to reach its registry on this machine, where the defaults do not.
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(?:CI|npm_config_(?:registry|cafile|proxy|https_proxy|noproxy)|NODE_EXTRA_CA_CERTS|HTTPS?_PROXY|NO_PROXY|SSL_CERT_FILE)$/i.test(
      name,
    ),
  );
  return perform(command, { env: { ...Object.fromEntries(kept), PATH: bin, HOME: home } });
}

function pathOf(name: string): string {
  const found = folders.map((folder) => join(folder, name)).find(existsSync);
  if (found === undefined) throw new Error(`${name} is not on the path`);
  return found;
}

/** Programs of the packages that no Debian, nor Ubuntu, is without. */
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

/** A folder of this name with what is in this one and git does not ignore. */
function copied(name: string): string {
  const copy = join(temporary, name);
  const given = ["clone", "--quiet", "--no-hardlinks", root, copy];
  if (perform(["git", ...given]) !== 0) throw new Error("the folder was not cloned");
  const changed = output("git", "ls-files", "-z", "--modified", "--others", "--exclude-standard", "--deduplicate");
  for (const file of changed.split("\0").filter((one) => one !== "")) {
    if (existsSync(join(root, file))) cpSync(join(root, file), join(copy, file), { recursive: true });
    else rmSync(join(copy, file), { force: true });
  }
  const modules = join(root, "node_modules");
  mkdirSync(join(copy, "node_modules"));
  // Caches change meanwhile, and are left out. The rest as links, where it lies on the same disk.
  const packages = globSync("*", { cwd: modules }).map((name) => join(modules, name));
  const installed = [...packages, ...[".bin", ".package-lock.json"].map((name) => join(modules, name))];
  for (const flags of ["-al", "-af"])
    if (perform(["cp", flags, ...installed, join(copy, "node_modules")]) === 0) return copy;
  throw new Error("node_modules was not copied");
}

function runAsUser(): number | null {
  if (process.getuid?.() !== 0) return perform(command);
  const copy = copied("users");
  const home = join(temporary, "of-nobody");
  mkdirSync(home);
  // Links are the same files as here: only folders change hands.
  perform(["find", join(copy, "node_modules"), "-type", "d", "-exec", "chown", "nobody", "{}", "+"]);
  const own = globSync("*", { cwd: copy, exclude: ["node_modules"] }).map((one) => join(copy, one));
  perform(["chown", "-R", "nobody", home, join(copy, ".git"), ...own]);
  perform(["chown", "nobody", copy]);
  // A cache that root wrote cannot be written.
  const { NODE_COMPILE_CACHE: _, npm_config_cache: __, ...env } = process.env;
  const as = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"];
  return perform([...as, ...command], { cwd: copy, env: { ...env, HOME: home, TMPDIR: home, USER: "nobody" } });
}

function runOffline(): number | null {
  const inside = 'ip link set lo up && exec "$@"';
  const own = process.getuid?.() === 0 ? ["-n"] : ["-rn"];
  return perform(["unshare", ...own, "sh", "-c", inside, "sh", ...command]);
}
