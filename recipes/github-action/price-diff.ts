/** Compares pipeline prices in two checkouts, and writes the table to a comment on the pull request or to the job's summary. */
import { execFile } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The fields of `showrunner plan --json` that this action uses; amounts are in dollars. */
interface Plan {
  readonly ok: boolean;
  readonly problems: readonly {
    readonly step: string | null;
    readonly field?: string | null;
    readonly message: string;
  }[];
  readonly prices?: readonly {
    readonly step: string;
    readonly model: string | null;
    readonly cost: string | null;
  }[];
  readonly total?: { readonly min: string; readonly max: string | null };
}

/** A pipeline's plan in one checkout; null if its file does not exist there. */
type Priced = Plan | { readonly failed: string } | null;

/** The fields of `showrunner check --json` that this action uses. */
interface Checked {
  readonly others: number;
  readonly runs: readonly {
    readonly id: string;
    readonly same: boolean;
    readonly steps: readonly { readonly path: string; readonly cause: string; readonly cost: string | null }[];
    readonly problems: Plan["problems"];
  }[];
}

/** A pipeline file, and the JSON file with its input; null for the pipeline's default input. */
interface Named {
  readonly pipeline: string;
  readonly input: string | null;
}

interface Settings {
  readonly pipelines: readonly Named[];
  /** Copy of a journal whose runs are compared with the pull request's code; null if runs are not compared. */
  readonly journal: string | null;
  readonly base: string;
  readonly head: string;
  readonly token: string;
  readonly api: string;
  readonly repository: string;
  readonly pullRequest: number | null;
  readonly summaryFile: string | null;
}

const MARKER = "<!-- showrunner-price-diff -->";
const MOST_STEPS = 40;

function settings(env: NodeJS.ProcessEnv): Settings {
  const pipelines = (env["INPUT_PIPELINES"] ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const [, pipeline = line, input = null] = /^(.+?)\s+@(.+)$/.exec(line) ?? [];
      return { pipeline, input };
    });
  if (pipelines.length === 0) throw new Error("pipelines: list one file per line.");
  const event = JSON.parse(readFileSync(env["GITHUB_EVENT_PATH"] ?? "/dev/null", "utf8") || "{}") as {
    readonly pull_request?: { readonly number: number };
  };
  return {
    pipelines,
    journal: env["INPUT_JOURNAL"] ? resolve(env["INPUT_JOURNAL"]) : null,
    base: resolve(env["INPUT_BASE"] || "base"),
    head: resolve(env["INPUT_HEAD"] || "head"),
    token: env["INPUT_TOKEN"] ?? "",
    api: env["GITHUB_API_URL"] ?? "https://api.github.com",
    repository: env["GITHUB_REPOSITORY"] ?? "",
    pullRequest: event.pull_request?.number ?? null,
    summaryFile: env["GITHUB_STEP_SUMMARY"] || null,
  };
}

function priced(checkout: string, { pipeline, input }: Named, head: string): Promise<Priced> {
  if (!existsSync(fileOf(checkout, pipeline))) return Promise.resolve(null);
  // An input that is new in the pull request is used for the base too.
  const given =
    input === null ? null : [checkout, head].map((side) => join(side, input)).find((one) => existsSync(one));
  if (given === undefined) return Promise.resolve({ failed: `input file ${input} does not exist` });
  return ask<Plan>(checkout, ["plan", pipeline, ...(given === null ? [] : ["--input", `@${given}`])]);
}

function fileOf(checkout: string, pipeline: string): string {
  return join(checkout, pipeline.replace(/#[^#/]*$/, ""));
}

/** Runs the command of a checkout. It executes code from the pull request, so it gets no secrets, such as the token. */
function ask<T extends object>(checkout: string, words: readonly string[]): Promise<T | { readonly failed: string }> {
  const { PATH, HOME, SHOWRUNNER_FAMILIES } = process.env;
  const env = { PATH, HOME, ...(SHOWRUNNER_FAMILIES !== undefined && { SHOWRUNNER_FAMILIES }) };
  const command = join(checkout, "node_modules", "showrunner", "bin", "showrunner.js");
  const args = [command, ...words, "--json", "--local"];
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd: checkout, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      try {
        const answer = JSON.parse(stdout) as
          | T
          | { readonly ok: false; readonly code: string; readonly message: string };
        const isRefusal = "code" in answer && "message" in answer && !("problems" in answer);
        done(isRefusal ? { failed: answer.message.split("\n")[0]! } : (answer as T));
      } catch {
        done({ failed: stderr.trim().split("\n")[0] ?? String(error) });
      }
    });
  });
}

function section(pipeline: string, before: Priced, after: Priced): string {
  const title = `### ${code(pipeline)}`;
  if (after === null)
    return `${title}\n\n${before === null ? "The file does not exist." : `Removed; it was ${total(before)}.`}`;
  if ("failed" in after) return `${title}\n\nPlanning failed: ${code(after.failed)}`;
  if (!after.ok) {
    return `${title}\n\nThe plan has problems:\n\n${problemLines(after.problems).join("\n")}`;
  }
  const was = before === null ? "new" : total(before);
  const headline = was === total(after) ? `unchanged: ${was}` : `${was} → **${total(after)}**${change(before, after)}`;
  const rows = changedRows(before, after);
  if (rows.length === 0) return `${title}\n\n${headline}`;
  const more = rows.length > MOST_STEPS ? `\n\n… and ${rows.length - MOST_STEPS} more steps.` : "";
  return `${title}\n\n${headline}\n\n| Step | Before | After |\n|---|---:|---:|\n${rows.slice(0, MOST_STEPS).join("\n")}${more}`;
}

function problemLines(problems: Plan["problems"]): readonly string[] {
  const where = ({ step, field }: Plan["problems"][number]) => [step, field].filter((part) => part != null);
  return problems.slice(0, MOST_STEPS).map((problem) => {
    return `- ${where(problem)
      .map((part) => `${code(String(part))}: `)
      .join("")}${code(problem.message)}`;
  });
}

/** Describes what the pull request would change in unfinished runs. If `differs` is true, the workflow's job fails. */
async function runsSection(
  { head, pipelines }: Settings,
  journal: string,
): Promise<{ readonly text: string; readonly differs: boolean }> {
  const title = "### Unfinished runs";
  const files = pipelines.map(({ pipeline }) => pipeline).filter((one) => existsSync(fileOf(head, one)));
  if (files.length === 0) return { text: `${title}\n\nNo pipeline file is left to compare them with.`, differs: true };
  const found = await ask<Checked>(head, ["check", ...files, "--against", journal]);
  if ("failed" in found) return { text: `${title}\n\nThe check failed: ${code(found.failed)}`, differs: true };
  const differ = found.runs.filter(({ same }) => !same);
  const others = found.others === 0 ? "" : `\n\nRuns of other pipelines (not checked): ${found.others}.`;
  if (differ.length === 0) {
    return { text: `${title}\n\nAll ${found.runs.length} would continue as planned.${others}`, differs: false };
  }
  const rows = differ.flatMap(({ id, steps, problems }) => [
    ...problems.map(({ message }) => `| ${code(id)} | | ${code(message)} | |`),
    ...steps.map(({ path, cause, cost }) => {
      return `| ${code(id)} | ${code(path)} | ${cause} | ${cause === "gone" ? "" : money(cost)} |`;
    }),
  ]);
  const more = rows.length > MOST_STEPS ? `\n\n… and ${rows.length - MOST_STEPS} more lines.` : "";
  const text = `${title}\n\n**${differ.length} of ${found.runs.length} would change.**${others}\n\n| Run | Step | | Price |\n|---|---|---|---:|\n${rows.slice(0, MOST_STEPS).join("\n")}${more}`;
  return { text, differs: true };
}

function changedRows(before: Priced, after: Plan): readonly string[] {
  const was = stepsOf(before);
  const is = stepsOf(after);
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((step) => {
    const [from = "–", to = "–"] = [was.get(step), is.get(step)];
    return from === to ? [] : [`| ${code(step)} | ${from} | ${to} |`];
  });
}

function stepsOf(plan: Priced): ReadonlyMap<string, string> {
  const prices = plan !== null && "prices" in plan ? (plan.prices ?? []) : [];
  return new Map(
    prices.map(({ step, model, cost }) => [step, `${money(cost)}${model === null ? "" : ` ${code(model)}`}`]),
  );
}

function total(plan: Exclude<Priced, null>): string {
  if ("failed" in plan || plan.total === undefined) return "not plannable";
  const { min, max } = plan.total;
  return min === max ? money(min) : `${money(min)} to ${max === null ? "unknown" : money(max)}`;
}

function change(before: Priced, after: Plan): string {
  const most = [before !== null && "total" in before ? before.total?.max : null, after.total?.max];
  const [was = 0, is = 0] = most.map(Number);
  if (most.includes(null) || most.includes(undefined) || was === 0) return "";
  const percent = Math.round(((is - was) / was) * 100);
  return ` (${is > was ? "+" : "−"}${money(
    Math.abs(is - was)
      .toFixed(6)
      .replace(/0{1,4}$/, ""),
  )}, ${percent > 0 ? "+" : ""}${percent}%)`;
}

function money(usd: string | null): string {
  return usd === null ? "no price" : `$${usd}`;
}

/** Formats text from the pull request as inline code, without markup. */
function code(text: string): string {
  const plain = text.replaceAll(/[\r\n`|]/g, " ").slice(0, 300);
  return `\`${plain}\``;
}

/** Creates or updates this action's comment. Returns false if that is impossible, for example without permission. */
async function comment({ api, repository, pullRequest, token }: Settings, body: string): Promise<boolean> {
  if (pullRequest === null || token === "" || repository === "") return false;
  const call = async (method: string, path: string, sent?: object) => {
    const answer = await fetch(`${api}/repos/${repository}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: "application/vnd.github+json",
        "Content-Type": "application/json",
      },
      ...(sent !== undefined && { body: JSON.stringify(sent) }),
    });
    if (answer.status === 401 || answer.status === 403 || answer.status === 404) return null;
    if (!answer.ok)
      throw new Error(`GitHub returned ${answer.status} for ${method} ${path}: ${(await answer.text()).slice(0, 300)}`);
    return (await answer.json()) as unknown;
  };
  for (let page = 1; page <= 20; page++) {
    const comments = await call("GET", `/issues/${pullRequest}/comments?per_page=100&page=${page}`);
    if (comments === null) return false;
    const list = comments as readonly {
      readonly id: number;
      readonly body?: string;
      readonly user?: { readonly type?: string };
    }[];
    const own = list.find((one) => one.user?.type === "Bot" && one.body?.startsWith(MARKER));
    if (own !== undefined) return (await call("PATCH", `/issues/comments/${own.id}`, { body })) !== null;
    if (list.length < 100) break;
  }
  return (await call("POST", `/issues/${pullRequest}/comments`, { body })) !== null;
}

const given = settings(process.env);
const sections: string[] = [];
for (const one of given.pipelines) {
  // Prices one checkout after the other, because each may start a local service in its folder.
  const before = await priced(given.base, one, given.head);
  sections.push(section(one.pipeline, before, await priced(given.head, one, given.head)));
}
const runs = given.journal === null ? null : await runsSection(given, given.journal);
if (runs !== null) sections.push(runs.text);
const body = `${MARKER}\n## Prices of this pull request\n\n${sections.join("\n\n")}\n\n*Prices from the local service's catalog, with the given input of each pipeline or its defaults.*`;
if (given.summaryFile !== null) appendFileSync(given.summaryFile, `${body}\n`);
if (await comment(given, body)) console.log("Comment written.");
else
  console.log(
    `::notice::The token cannot write comments, as in pull requests from forks; see the job's summary.\n${body}`,
  );
if (runs?.differs === true) {
  console.log("::error::This change would rerun steps of unfinished runs; see the comment or the job's summary.");
  process.exitCode = 1;
}
