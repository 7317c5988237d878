import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pipeline } from "../../core/define/index.ts";
import { formatUsd } from "../../core/kit/money.ts";
import { placeholderMedium } from "../../core/kit/placeholder-media.ts";
import type { Quote, Showrunner } from "../../index.ts";
import type { PipelineInput } from "../expression.ts";
import type { Migration } from "../migrate.ts";
import type { PriceReport, StepPriceReport } from "../report/report.ts";

interface EstimateOptions {
  /** The pipeline that the generated source exports. */
  readonly pipeline: Pipeline;
  /** Name of the service in the report: its address, or "the local service". */
  readonly service: string;
  /** A value for every input of the pipeline. For values that do not exist yet, use {@link sampleInput}. */
  readonly input: unknown;
  /** Maximum number of jobs to price. For larger pipelines, use `showrunner plan`. Default: 2,000. */
  readonly maxJobs?: number | undefined;
}

/** Value of `maxUnquoted`, in US dollars. Without it, the quote reports jobs without a price as problems. */
const ANY_AMOUNT = "1000000";
const MAX_JOBS = 2000;

/** Adds the price of each job to the migration report. Runs no jobs. */
export async function estimateMigration(
  migration: Migration,
  quoter: Pick<Showrunner, "quote">,
  { pipeline, service, input, maxJobs = MAX_JOBS }: EstimateOptions,
): Promise<Migration> {
  const { report } = migration;
  if (report.steps.length > maxJobs) {
    const why = `only migrations of up to ${maxJobs} jobs are priced, and this one has ${report.steps.length}; to price it, run showrunner plan`;
    return { ...migration, report: { ...report, price: { service, steps: [], min: null, max: null, why } } };
  }
  const quote = await quoter.quote(pipeline, input, { maxUnquoted: ANY_AMOUNT });
  return { ...migration, report: { ...report, price: priceOf(migration, quote, service) } };
}

function priceOf({ report }: Migration, quote: Quote, service: string): PriceReport {
  const jobs = new Set(report.steps.map(({ name }) => name));
  const hasSamples = report.inputs.length > 0;
  const steps = quote.prices
    .filter(({ step }) => jobs.has(step))
    .map(({ step, model, costMicros, basis, reason }): StepPriceReport => {
      const cost = formatUsd(costMicros);
      return { step, model, cost, basis: costMicros === null ? "unquotable" : basis, why: reason };
    });
  const known = quote.prices.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
  const isWhole = steps.length > 0 && steps.every(({ cost }) => cost !== null);
  const [problem] = quote.problems;
  const why =
    problem !== undefined && steps.length === 0
      ? `not priced: ${problem.step ?? "the pipeline"}: ${problem.message}`
      : hasSamples
        ? "with placeholders for the inputs that you have not supplied yet; to price the real inputs, run showrunner plan"
        : null;
  return {
    service,
    steps,
    min: steps.length === 0 ? null : formatUsd(known),
    max: isWhole ? formatUsd(known) : null,
    why,
  };
}

/** Settings for placeholder inputs. */
interface SampleOptions {
  /** Folder to which the media files are written. */
  readonly folder: string;
  /** A v3 voice for inputs of the kind `voice`. */
  readonly voice: string;
}

const WANTED = { durationMs: 3000, ratio: 1 };
const ENDING = { image: "png", audio: "wav", video: "mp4" } as const;

/** Creates a placeholder for every input: media within the limits of their models, sample text, or the given voice. */
export async function sampleInput(
  inputs: readonly PipelineInput[],
  { folder, voice }: SampleOptions,
): Promise<{ readonly [name: string]: string }> {
  const valueFor = async (input: PipelineInput): Promise<string> => {
    switch (input.is) {
      case "file": {
        const path = join(folder, `${input.step}.${ENDING[input.kind]}`);
        await writeFile(path, placeholderMedium(input.kind, WANTED, input.limits ?? {}));
        return path;
      }
      case "voice":
        return voice;
      case "text":
        return "A lighthouse at dusk.".slice(0, input.maxLength ?? undefined);
      case "choice":
        return input.choices[0] ?? "";
      default:
        return input satisfies never;
    }
  };
  const entries = inputs.map(async (input) => [input.name, await valueFor(input)] as const);
  return Object.fromEntries(await Promise.all(entries));
}
