import { valueNames } from "../../catalog/codegen/names.ts";
import type { ConvertedJob, Shift, Variation } from "../body.ts";
import type { Expression, PipelineInput } from "../expression.ts";
import { jobsOf, returnedSteps } from "../migration-context.ts";
import { camel } from "../names.ts";
import type { MigratedPipeline } from "../pipeline.ts";
import type { MigrationReport } from "../report/report.ts";
import {
  block,
  comment,
  commentWords,
  inline,
  LINE_WIDTH,
  numberLiteral,
  property,
  propertyName,
  stringLiteral,
  widthOf,
} from "./layout.ts";

/** The pipeline as formatted TypeScript; its models are typed by the module that it imports. */
export function writeSource(converted: MigratedPipeline, report: MigrationReport): string {
  const { context, inputs, name, modelsModule } = converted;
  const hasFiles = inputs.some(({ is }) => is === "file");
  const hasShifts = jobsOf(context).some(({ shift }) => shift !== null);
  const words = [inputs.length > 0 ? "input" : "", "job", hasShifts ? "task" : "", hasFiles ? "upload" : ""];
  const imported = [...(hasFiles ? ["file"] : []), "pipeline"];
  const modelNames = namesOfModels(converted);
  return [
    `import { ${imported.join(", ")} } from "showrunner";`,
    ...(hasShifts ? ['import { shiftSound } from "showrunner/migrate";'] : []),
    'import { z } from "zod";',
    `import { models } from ${stringLiteral(modelsModule)};`,
    "",
    `/** ${summary(report)} What became of every field is in report.md. */`,
    `export default pipeline(${stringLiteral(name)}, {`,
    `  input: ${inputSchema(inputs)},`,
    `  build({ ${words.filter(Boolean).join(", ")} }) {`,
    ...inputs.flatMap((input) => (input.is === "file" ? [uploadLine(input)] : [])),
    ...commentedOnce(jobsOf(context)).flatMap((job) => [...shiftLines(job.shift), jobText(job, modelNames)]),
    returnText(returnedSteps(context).map(camel)),
    "  },",
    "});",
    "",
  ].join("\n");
}

function summary({ bodies, steps }: MigrationReport): string {
  const migrated = bodies.filter(({ status }) => status === "migrated").length;
  const count = bodies.filter(({ status }) => status !== "asset").length;
  const rest = migrated === count ? "" : ` of ${count}`;
  return `Migrated from v2: ${migrated}${rest} ${count === 1 ? "body" : "bodies"}, ${steps.length} ${steps.length === 1 ? "job" : "jobs"}.`;
}

/** A decision about many jobs is commented at the first of them. */
function commentedOnce(jobs: readonly ConvertedJob[]): readonly ConvertedJob[] {
  const told = new Set<string>();
  return jobs.map((job) => {
    const comments = job.comments.filter((text) => !told.has(text));
    for (const text of comments) told.add(text);
    return { ...job, comments };
  });
}

/** The generated module's names for the models: it lists the whole catalog, so names depend on all models. */
function namesOfModels({ context }: MigratedPipeline): ReadonlyMap<string, string> {
  const listed = context.catalog
    .models()
    .filter(
      (model) =>
        (model.state === "live" || model.state === "retired") && ["image", "video", "audio"].includes(model.modality),
    )
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return valueNames(listed);
}

function inputSchema(inputs: readonly PipelineInput[]): string {
  if (inputs.length === 0) return "z.object({})";
  const fields = inputs.map((input) => {
    const why = comment(commentWords(input.why), "    ");
    const line = `    ${propertyName(input.name)}: ${schemaText(input)},`;
    return (
      why +
      (widthOf(line) <= LINE_WIDTH || input.is !== "choice"
        ? line
        : `    ${propertyName(input.name)}: ${choiceBlock(input.values)},`)
    );
  });
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
      return `z.enum([${input.values.map(stringLiteral).join(", ")}])`;
    default:
      return input satisfies never;
  }
}

function choiceBlock(values: readonly string[]): string {
  return `z.enum([\n${values.map((value) => `      ${stringLiteral(value)},`).join("\n")}\n    ])`;
}

function uploadLine({ name, step }: Extract<PipelineInput, { is: "file" }>): string {
  return statement(`const ${name} = upload`, [stringLiteral(step), `input.${name}`]);
}

/** Always too long for one line. */
function shiftLines(shift: Shift | null): readonly string[] {
  if (shift === null) return [];
  const sound = inline(shift.sound) ?? "null";
  const options = `{ from: sound.path, to: file("sound"), startMs: ${numberLiteral(shift.startMs)} }`;
  return [
    `    const ${camel(shift.step)} = task(`,
    `      ${stringLiteral(shift.step)},`,
    `      { sound: ${sound} },`,
    `      ({ sound }, { file }) => shiftSound(${options}),`,
    '      { files: { sound: "audio" } },',
    "    );",
  ];
}

function jobText(job: ConvertedJob, modelNames: ReadonlyMap<string, string>): string {
  const comments = job.comments.map((text) => comment(commentWords(`To decide: ${text}`), "    ")).join("");
  const name = modelNames.get(job.view.id);
  const model = name === undefined ? stringLiteral(job.view.id) : `models.${name}`;
  const { sharedName } = job;
  if (sharedName === null) {
    const [only] = job.variations;
    return comments + (only === undefined ? "" : jobLine(only, model, (indent) => inputBlock(job.input, indent)));
  }
  const shared = `    const ${sharedName} = ${inputBlock(job.input, "    ")} as const;`;
  const lines = job.variations.map((one) => variationLine(one, model, sharedName));
  return comments + [shared, ...lines].join("\n");
}

function inputBlock(input: ReadonlyMap<string, Expression>, indent: string): string {
  return block({ is: "record", entries: [...input] }, indent);
}

function jobLine({ step }: Variation, model: string, input: (indent: string) => string): string {
  const head = `    const ${camel(step)} = job(${stringLiteral(step)}, ${model}, {`;
  if (widthOf(head) <= LINE_WIDTH) return `${head.slice(0, -1)}${input("    ")});`;
  return `    const ${camel(step)} = job(\n      ${stringLiteral(step)},\n      ${model},\n      ${input("      ")},\n    );`;
}

function variationLine(one: Variation, model: string, shared: string): string {
  if (one.own.size === 0) return statement(`const ${camel(one.step)} = job`, [stringLiteral(one.step), model, shared]);
  const own = [...one.own].map(([name, value]) => property(name, value, "").slice(0, -1)).join(", ");
  const line = `    const ${camel(one.step)} = job(${stringLiteral(one.step)}, ${model}, { ...${shared}, ${own} });`;
  if (widthOf(line) <= LINE_WIDTH) return line;
  return jobLine(one, model, (indent) => {
    const fields = [...one.own].map(([name, value]) => property(name, value, `${indent}  `));
    return `{\n${[`${indent}  ...${shared},`, ...fields].join("\n")}\n${indent}}`;
  });
}

/** A call on one line, or with one argument per line. */
function statement(head: string, args: readonly string[]): string {
  const line = `    ${head}(${args.join(", ")});`;
  if (widthOf(line) <= LINE_WIDTH) return line;
  return `    ${head}(\n${args.map((arg) => `      ${arg},`).join("\n")}\n    );`;
}

function returnText(names: readonly string[]): string {
  const line = `    return { ${names.join(", ")} };`;
  if (widthOf(line) <= LINE_WIDTH) return line;
  return `    return {\n${names.map((name) => `      ${name},`).join("\n")}\n    };`;
}
