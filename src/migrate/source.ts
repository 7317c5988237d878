import { generatedModels, valueNames } from "../core/catalog/codegen.ts";
import type { Json } from "../core/plan/plan.ts";
import type { ConvertedJob, Shift, Variation } from "./body.ts";
import { type Expression, json, type PipelineInput } from "./expression.ts";
import { jobsOf, type MigrationContext, returnedSteps } from "./migration-context.ts";
import { camel } from "./names.ts";
import type { MigrationReport } from "./report/report.ts";

export function writeSource(report: MigrationReport, context: MigrationContext, modelsModule: string): string {
  const { inputs } = report;
  const jobs = jobsOf(context);
  const hasFiles = inputs.some(({ is }) => is === "file");
  const hasShifts = jobs.some(({ shift }) => shift !== null);
  const words = [inputs.length > 0 ? "input" : "", "job", hasShifts ? "task" : "", hasFiles ? "upload" : ""];
  const modelOf = modelNames(context);
  return [
    `import { ${hasFiles ? "file, " : ""}pipeline } from "showrunner";`,
    ...(hasShifts ? ['import { shiftSound } from "showrunner/migrate";'] : []),
    'import { z } from "zod";',
    `import { models } from ${literal(modelsModule)};`,
    "",
    `/** ${summary(report)} report.md lists the outcome of every field. */`,
    `export default pipeline(${literal(report.pipeline)}, {`,
    `  input: ${inputSchema(inputs)},`,
    `  build({ ${words.filter(Boolean).join(", ")} }) {`,
    ...inputs.flatMap((input) => (input.is === "file" ? [uploadLine(input)] : [])),
    ...commentedOnce(jobs).flatMap((job) => [...shiftLines(job.shift), ...jobLines(job, modelOf(job))]),
    `    ${listed("return { ", returnedSteps(context).map(camel), " };", "    ")}`,
    "  },",
    "});",
    "",
  ].join("\n");
}

function summary({ bodies, steps }: MigrationReport): string {
  const migrated = bodies.filter(({ status }) => status === "migrated").length;
  const count = bodies.filter(({ status }) => status !== "asset").length;
  const rest = migrated === count ? "" : ` of ${count}`;
  return `Migrated ${migrated}${rest} v2 ${count === 1 ? "body" : "bodies"} to ${steps.length} ${steps.length === 1 ? "job" : "jobs"}.`;
}

function commentedOnce(jobs: readonly ConvertedJob[]): readonly ConvertedJob[] {
  const written = new Set<string>();
  return jobs.map((job) => {
    const comments = job.comments.filter((text) => !written.has(text));
    for (const text of comments) written.add(text);
    return { ...job, comments };
  });
}

function modelNames({ options }: MigrationContext): (job: ConvertedJob) => string {
  const names = valueNames(generatedModels(options.catalog));
  return ({ view }) => {
    const name = names.get(view.id);
    return name === undefined ? literal(view.id) : `models.${name}`;
  };
}

function inputSchema(inputs: readonly PipelineInput[]): string {
  if (inputs.length === 0) return "z.object({})";
  const fields = inputs.map((input) => `${comment(input.why)}    ${key(input.name)}: ${schemaText(input)},`);
  return `z.object({\n${fields.join("\n")}\n  })`;
}

function schemaText(input: PipelineInput): string {
  switch (input.is) {
    case "file":
      return `file("${input.kind}")`;
    case "voice":
      return "z.string().min(1)";
    case "text":
      return input.maxLength === null ? "z.string().min(1)" : `z.string().min(1).max(${input.maxLength})`;
    case "choice":
      return listed("z.enum([", input.choices.map(literal), "])", "    ");
    default:
      return input satisfies never;
  }
}

function uploadLine({ name, step }: Extract<PipelineInput, { is: "file" }>): string {
  return `    ${listed(`const ${name} = upload(`, [literal(step), `input.${name}`], ");", "    ")}`;
}

function shiftLines(shift: Shift | null): readonly string[] {
  if (shift === null) return [];
  return [
    `    const ${camel(shift.step)} = task(`,
    `      ${literal(shift.step)},`,
    `      { sound: ${written(shift.sound, "      ")} },`,
    `      ({ sound }, { file }) => shiftSound({ from: sound.path, to: file("sound"), startMs: ${shift.startMs} }),`,
    '      { files: { sound: "audio" } },',
    "    );",
  ];
}

function jobLines(job: ConvertedJob, model: string): readonly string[] {
  const comments = job.comments.map((text) => comment(`To decide: ${text}`)).join("");
  const input = written({ is: "record", entries: [...job.input] }, "    ");
  const call = ({ step }: Variation, given: string) =>
    `    const ${camel(step)} = job(${literal(step)}, ${model}, ${given});`;
  const { sharedName } = job;
  if (sharedName === null) return job.variations.map((one) => comments + call(one, input));
  return [
    `${comments}    const ${sharedName} = ${input} as const;`,
    ...job.variations.map((one) => {
      const own = [...one.own].map(([name, value]) => `, ${key(name)}: ${written(value, "    ")}`);
      return call(one, own.length === 0 ? sharedName : `{ ...${sharedName}${own.join("")} }`);
    }),
  ];
}

const LINE_WIDTH = 120;

function written(value: Expression, indent: string, head = ""): string {
  switch (value.is) {
    case "json":
      return typeof value.value === "object" && value.value !== null
        ? written(divided(value.value), indent, head)
        : `${head}${typeof value.value === "string" ? literal(value.value) : value.value}`;
    case "step":
      return `${head}${camel(value.step)}`;
    case "upload":
      return `${head}${value.input}`;
    case "input":
      return `${head}input.${value.input}`;
    case "template":
      return `${head}\`${value.parts.map((part) => (typeof part === "string" ? templateText(part) : `\${input.${part.input}}`)).join("")}\``;
    case "list": {
      const items = value.items.map((item) => written(item, `${indent}  `));
      return listed(`${head}[`, items, "]", indent);
    }
    case "record": {
      if (value.entries.length === 0) return `${head}{}`;
      const inner = `${indent}  `;
      const fields = value.entries.map(([name, one]) => {
        const field = written(one, inner, `${key(name)}: `);
        return `${inner}${field === `${name}: ${name}` ? name : field},\n`;
      });
      return `${head}{\n${fields.join("")}${indent}}`;
    }
    default:
      return value satisfies never;
  }
}

function divided(value: Exclude<Json, string | number | boolean | null>): Expression {
  if (Array.isArray(value)) return { is: "list", items: value.map(json) };
  return { is: "record", entries: Object.entries(value).map(([name, item]) => [name, json(item)] as const) };
}

function listed(open: string, items: readonly string[], close: string, indent: string): string {
  const line = `${open}${items.join(", ")}${close}`;
  if (items.length === 0 || (!line.includes("\n") && indent.length + line.length < LINE_WIDTH)) return line;
  return `${open.trimEnd()}\n${items.map((item) => `${indent}  ${item},\n`).join("")}${indent}${close.trimStart()}`;
}

const INVISIBLE = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function literal(text: string): string {
  return JSON.stringify(text).replace(INVISIBLE, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function templateText(text: string): string {
  return literal(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("`", "\\`").replaceAll("${", "\\${");
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}

function comment(text: string): string {
  const plain = text
    .replace(INVISIBLE, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  const lines: string[] = [];
  for (const word of plain.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= LINE_WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`    // ${word}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}
