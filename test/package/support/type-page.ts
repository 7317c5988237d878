import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { withLauncher } from "../../../src/core/kit/launcher.ts";
import { codeBlocks } from "../../docs/support/code-blocks.ts";
import { shellLines } from "../../docs/support/shell-lines.ts";
import { endOf, reasonOf, type Walk } from "../../docs/support/walks.ts";
import { compileCache } from "../../support/compile-cache.ts";

export interface Typing {
  /** Folder in which the first line is typed. */
  readonly folder: string;
  /** Folder of `npx`, which is found before the system's `npx`. */
  readonly bin: string;
  readonly service: { readonly baseUrl: string; readonly apiKey: string };
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const lines = shellLines();

/** Types the shell lines of a page into a shell, in order; each must end as described in its walk. */
export async function typePage(page: string, walk: Walk, typing: Typing): Promise<void> {
  const { folder, service } = typing;
  const here = lines.filter(({ document, text }) => document === page && reasonOf(document, text) === null);
  const typed = here.map(({ text }) =>
    (walk.as ?? [])
      .reduce((line, [from, to]) => line.replaceAll(from, to), text)
      .replaceAll("{url}", service.baseUrl)
      .replaceAll("{key}", service.apiKey),
  );
  const logs = join(folder, "logs");
  mkdirSync(logs);
  const script = [
    ...(walk.before ?? []).map((line) => `{ ${line}\n} || exit 1`),
    ...typed.map((text, at) => scriptOf(text, join(logs, String(at)), here[at]!.text, walk)),
  ];
  await run(script.join("\n"), typing);
  for (const [at, { text, line }] of here.entries()) {
    const read = (name: string) => {
      const file = join(logs, `${at}.${name}`);
      return existsSync(file) ? readFileSync(file, "utf8") : "";
    };
    const said = `${read("out")}${read("err")}`;
    const ready = endOf(walk.serves, text);
    // What is ended says so, or ends as if it was through; npm's own npx ends by the signal.
    const ended = walk.isInClone ? [0, 130, 143] : [0, 130];
    const ends = ready === undefined ? [endOf(walk.exits, text) ?? 0] : ended;
    expect(ends, `${page}:${line}: ${text}\n${said}`).toContain(Number(read("code")));
    if (ready !== undefined) expect(said, text).toMatch(new RegExp(ready));
    expect(said, "advice that a project's own installation cannot follow").toBe(withLauncher(said, "npx showrunner"));
  }
}

/** The blocks of a page that contain files, by name. */
export function filesOf(page: string): Readonly<Record<string, string>> {
  const files = codeBlocks().flatMap(({ document, marks, code }) => {
    const file = marks.find((mark) => mark.startsWith("file="))?.slice("file=".length);
    return document === page && file !== undefined ? [[file, code] as const] : [];
  });
  return Object.fromEntries(files);
}

/** A script for a line that saves its output and exit code. A line that keeps running is ended once it has reported that it is ready. */
function scriptOf(typed: string, log: string, text: string, { serves }: Walk): string {
  const kept = `>${log}.out 2>${log}.err </dev/null`;
  const ready = endOf(serves, text);
  if (ready === undefined) return `{ ${typed}\n} ${kept}\necho $? >${log}.code`;
  const wait = `for n in $(seq 600); do grep -qsE '${ready}' ${log}.out ${log}.err && break; sleep 0.05; done`;
  // The shell around the command waits for how it ends.
  return `( trap : TERM; ${typed}\n) ${kept} &\n${wait}\nkill -TERM -- -$!; wait $!; echo $? >${log}.code`;
}

async function run(script: string, { folder, bin, env: more, timeoutMs: timeout = 150_000 }: Typing): Promise<void> {
  const PATH = [bin, dirname(process.execPath), "/usr/bin", "/bin"].join(":");
  const env = { PATH, HOME: folder, ...compileCache, ...more };
  // A group of its own for each line, so that it can be ended with what it started.
  await promisify(execFile)("bash", ["-c", `set -m\n${script}`], { cwd: folder, env, timeout });
}
