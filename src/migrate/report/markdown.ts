import { formatDuration } from "../../core/kit/duration.ts";
import { formatBytes } from "../../core/kit/value-text.ts";
import type { PipelineInput } from "../expression.ts";
import {
  type BodyReport,
  type Decision,
  type FieldEntry,
  lossesOf,
  type MigrationReport,
  type Outcome,
  type PriceReport,
  type VerificationReport,
} from "./report.ts";

const OUTCOME: Readonly<Record<Outcome, string>> = {
  carried: "carried over",
  renamed: "renamed",
  converted: "converted",
  defaulted: "defaulted",
  dropped: "dropped",
  decision: "**needs a decision**",
};

const INTRODUCTION =
  "This report lists the result for each body (request) of the v2 document. The pipeline is in `pipeline.ts`; no paid job was submitted to v2 or v3.";

const HOW_TO_DECIDE =
  "Each point states what is uncertain, where it is in the v2 document, and the choices. Until you decide, the pipeline uses the marked choice. " +
  "To choose models and voices, or decide what to leave out, run `showrunner migrate` again. In a terminal, it asks you for each choice; you can also set a model or voice with `--map V2-NAME=V3-ID`; " +
  "the answers are kept in `migrate.decisions.json`. Make all other decisions in `pipeline.ts`.";

const LEGEND =
  "Every field of the v2 bodies is listed once. Carried over: the same name and value; renamed: the same value under another name; " +
  "converted: a different value or form; defaulted: absent from v2, and written explicitly because v3's default differs; dropped: not in the pipeline, for the reason given.";

export function reportMarkdown(report: MigrationReport): string {
  const { bodies } = report;
  return [
    `# Migration of ${code(report.pipeline)}`,
    INTRODUCTION,
    summary(report),
    section("To decide", decisions(report.decisions)),
    section("To supply", inputs(report)),
    section("Not migrated", problems(report)),
    section("Price", price(report)),
    section("Proof", verification(report.verification)),
    section("Left out", report.left.map(({ at, why }) => `- ${escaped(at)}: ${escaped(why)}`).join("\n")),
    section("Every field", bodies.length === 0 ? "" : [LEGEND, ...bodies.map(bodyText)].join("\n\n")),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n");
}

function summary(report: MigrationReport): string {
  const { bodies, steps, problems, decisions } = report;
  const of = (status: BodyReport["status"]) => bodies.filter((body) => body.status === status).length;
  return [
    "| | |",
    "|---|---|",
    `| bodies migrated | ${of("migrated")} |`,
    `| uploads replaced by files that you supply | ${of("asset")} |`,
    `| bodies without a suitable v3 model (open) | ${of("open")} |`,
    `| media, prompts, shots and voices that no step uses | ${lossesOf(report).length} |`,
    `| parts not migrated, because v2 itself would refuse them | ${problems.length} |`,
    `| jobs | ${steps.length} |`,
    `| decisions to make | ${decisions.length} |`,
  ].join("\n");
}

function section(title: string, text: string): string {
  return text === "" ? "" : `## ${title}\n\n${text}`;
}

const SHOWN_LOCATIONS = 5;

function decisions(all: readonly Decision[]): string {
  if (all.length === 0) return "";
  const list = all.map((decision, index) => `${index + 1}. ${decisionText(decision)}`);
  return `${HOW_TO_DECIDE}\n\n${list.join("\n")}`;
}

function decisionText({ question, where, choices }: Decision): string {
  const locations = where.slice(0, SHOWN_LOCATIONS).map(escaped).join("; ");
  const more = where.length > SHOWN_LOCATIONS ? ` and ${where.length - SHOWN_LOCATIONS} more` : "";
  const options = choices.map(
    (choice, index) => `   - ${escaped(choice)}${index === 0 ? " (what the pipeline does now)" : ""}`,
  );
  return [`${escaped(question)} (${locations}${more})`, ...options].join("\n");
}

function inputs({ inputs: all, pipeline }: MigrationReport): string {
  if (all.length === 0) return "";
  const rows = all.map(
    (one) =>
      `| ${code(one.name)} | ${one.is === "file" ? `${one.kind} file${limits(one)}` : one.is} | ${escaped(one.why)} |`,
  );
  const flags = all.map((one) => `-i ${one.name}=${one.is === "file" ? `path/to/${one.kind}` : "…"}`);
  const run = `npx showrunner run pipeline.ts ${flags.slice(0, 4).join(" ")}${flags.length > 4 ? " …" : ""} --id ${pipeline}`;
  return ["| Input | Type | Replaces |", "|---|---|---|", ...rows, "", "```sh", run, "```"].join("\n");
}

/** Formats an input file's limits, such as `, 3.0 s to 30.0 s, 340 px to 3850 px a side`. */
function limits({ limits: found = {} }: PipelineInput): string {
  const ranges = [
    range(found["min_duration_ms"], found["max_duration_ms"], formatDuration),
    range(found["min_dimension_px"], found["max_dimension_px"], (px) => `${px} px`, " a side"),
    range(undefined, found["max_file_size_bytes"], formatBytes),
  ];
  return ranges.flatMap((text) => (text === "" ? [] : [`, ${text}`])).join("");
}

function range(min: number | undefined, max: number | undefined, asText: (value: number) => string, of = ""): string {
  if (min === undefined) return max === undefined ? "" : `${asText(max)}${of} at most`;
  return max === undefined ? `${asText(min)}${of} or more` : `${asText(min)} to ${asText(max)}${of}`;
}

function problems({ problems: all }: MigrationReport): string {
  return all
    .map(({ at, line, column, message }) => {
      const position = line === null ? "" : ` (line ${line}, column ${column ?? 1})`;
      return `- ${escaped(at)}${position}: ${escaped(message)}`;
    })
    .join("\n");
}

const CREDITS =
  "v2 credits have no fixed dollar value, so v2 costs cannot be converted to dollars; calculate them from your v2 subscription.";

function price({ price: found, steps }: MigrationReport): string {
  if (steps.length === 0) return "";
  if (found === null) return `The price was not estimated, because no quote was requested from a service. ${CREDITS}`;
  const { min, max, service, why } = found;
  const total = min === null ? "no total" : max === null ? `at least $${min}` : `$${max}`;
  const note = why === null ? "" : ` (${escaped(why)})`;
  const head = `Estimated by ${escaped(service)}: ${total} for ${steps.length} jobs${note}. ${CREDITS}`;
  const isOpen = found.steps.some(({ cost }) => cost === null);
  const cap = isOpen
    ? "\n\nJobs that cannot be quoted are run only with `--max-unquoted USD`, which sets the maximum cost of each such job."
    : "";
  return found.steps.length === 0 ? head : `${head}\n\n${priceTable(found)}${cap}`;
}

function priceTable({ steps }: PriceReport): string {
  const rows = steps.map(({ step, model, cost, basis, why }) => {
    const amount = cost === null ? "cannot be quoted" : `$${cost}`;
    const remark = basis === "provisional" ? "provisional: some of its inputs do not exist yet" : (why ?? "");
    return `| ${code(step)} | ${escaped(model ?? "")} | ${amount} | ${escaped(remark)} |`;
  });
  return ["| Step | Model | Price | Note |", "|---|---|---|---|", ...rows].join("\n");
}

function verification(found: VerificationReport | null): string {
  if (found === null) return "";
  const list = (tally: VerificationReport["expected"]) =>
    tally.map(({ kind, count }) => `${count} × ${kind}`).join(", ") || "nothing";
  const [expected, made] = [list(found.expected), list(found.found)];
  const verdict = found.ok
    ? "The migrated pipeline ran on the local service and generated what v2 would have generated"
    : "The migrated pipeline ran on the local service, but did not generate everything that v2 would have generated";
  const tally = expected === made ? made : `${expected} expected, ${made} found`;
  const open = found.uncovered.map(escaped).join(", ");
  const head = `${verdict}: ${tally}.${open === "" ? "" : ` Not covered, because open or refused: ${open}.`}`;
  if (found.differences.length === 0) return head;
  return [head, "", ...found.differences.map((one) => `- ${escaped(one)}`)].join("\n");
}

function bodyText(body: BodyReport): string {
  const { number, at, type, status, steps } = body;
  const position = at === `body ${number}` ? "" : `, ${escaped(at)}`;
  const became =
    steps.length > 0 ? `: ${steps.map(code).join(" → ")}` : status === "asset" ? ": a file to supply" : `: ${status}`;
  const head = `### Body ${number}${position}: ${escaped(type)}${became}`;
  const original = body.body !== null ? ["", "Original body:", "", fenced(JSON.stringify(body.body, null, 2))] : [];
  // All fields of a body that was not migrated share one reason.
  if (status === "open" || status === "refused")
    return [head, "", escaped(body.fields[0]?.why ?? ""), ...original].join("\n");
  const rows = body.fields.map(fieldRow);
  return [
    head,
    "",
    "| Field | In v2 | Outcome | In the pipeline | Why |",
    "|---|---|---|---|---|",
    ...rows,
    ...original,
  ].join("\n");
}

function fieldRow({ field, given, outcome, value, to, newValue, why, choices }: FieldEntry): string {
  const before = given ? valueCell(value) : "–";
  const isNew = newValue !== null && (outcome !== "carried" || !given);
  const after = [to === null ? "" : escaped(to), isNew && outcome !== "renamed" ? valueCell(newValue) : ""]
    .filter(Boolean)
    .join(" = ");
  const reason = [why ?? "", outcome === "decision" && choices.length > 0 ? `(${choices.join(" / ")})` : ""]
    .filter(Boolean)
    .join(" ");
  return `| ${code(field)} | ${before} | ${OUTCOME[outcome]} | ${after} | ${escaped(reason)} |`;
}

const SHOWN = 80;

function valueCell(value: FieldEntry["value"]): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === "" ? "(blank)" : code(text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text);
}

function escaped(text: string): string {
  return flat(text).replace(/[\\`*_[\]<>#|]/g, "\\$&");
}

function code(text: string): string {
  const plain = flat(text).replaceAll("|", "\\|");
  const fence = plain.includes("`") ? "``" : "`";
  return fence === "``" ? `\`\` ${plain.replaceAll("``", "` `")} \`\`` : `\`${plain}\``;
}

function flat(text: string): string {
  return text.replace(/[\s\u2028\u2029]+/g, " ").replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "�");
}

function fenced(json: string): string {
  const text = json.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => {
    return `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}json\n${text}\n${fence}`;
}
