import { AssertionError } from "node:assert";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { formatUsd, type Quote } from "../internal.ts";

/** A quote as it is kept in a file: dollars as decimal strings. */
interface StoredQuote {
  readonly pipeline: string;
  readonly total: { readonly min: string; readonly max: string | null };
  /** By path. */
  readonly steps: { readonly [path: string]: { readonly model: string | null; readonly price: string } };
}

/** Compares with the file; writes it where it is missing or shall be updated. */
export async function assertSameQuote(quote: Quote, file: string | URL): Promise<void> {
  const now = storedQuote(quote);
  const path = typeof file === "string" ? file : fileURLToPath(file);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  const isUpdate = isSet("SHOWRUNNER_UPDATE_QUOTES");
  if (text === null && isSet("CI") && !isUpdate) {
    throw new AssertionError({
      message: `There is no quote in ${path}: run the test once outside CI and commit the file.`,
    });
  }
  const written = `${JSON.stringify(now, null, 2)}\n`;
  if (text === null || isUpdate) return text === written ? undefined : writeFile(path, written);
  const before = parse(text, path);
  const differences = quoteDifferences(before, now);
  if (differences.length === 0) return;
  throw new AssertionError({
    message: `The quote of ${now.pipeline} is not the one in ${path}:\n${differences.map((one) => `- ${one}`).join("\n")}\nIf that is intended, run the test with SHOWRUNNER_UPDATE_QUOTES=1 and commit the file.`,
    actual: now,
    expected: before,
  });
}

function isSet(name: string): boolean {
  return !["", "0", "false", undefined].includes(process.env[name]);
}

function parse(text: string, path: string): StoredQuote {
  try {
    const found = JSON.parse(text) as StoredQuote;
    if (typeof found.steps === "object" && typeof found.total === "object") return found;
  } catch {
    // Reported below.
  }
  throw new TypeError(`${path} holds no quote; delete it, and the next run of the test writes it.`);
}

function storedQuote({ plan, problems, prices, totalMicros }: Quote): StoredQuote {
  if (plan === null || problems.length > 0) {
    const said = problems.map(({ step, message }) => `- ${step === null ? "" : `${step}: `}${message}`);
    throw new AssertionError({ message: `The pipeline cannot be planned:\n${said.join("\n")}` });
  }
  const { min, max } = totalMicros;
  return {
    pipeline: plan.pipeline,
    total: { min: formatUsd(min), max: max === null ? null : formatUsd(max) },
    steps: Object.fromEntries(
      prices.map(({ step, model, costMicros, maxCostMicros, basis }) => {
        const most = maxCostMicros === null ? "no price" : `at most ${formatUsd(maxCostMicros)}`;
        return [step, { model, price: `${costMicros === null ? most : formatUsd(costMicros)}, ${basis}` }];
      }),
    ),
  };
}

function quoteDifferences(before: StoredQuote, now: StoredQuote): readonly string[] {
  const paths = [...new Set([...Object.keys(before.steps), ...Object.keys(now.steps)])];
  const steps = paths.flatMap((path) => {
    const [was, is] = [said(before.steps[path]), said(now.steps[path])];
    if (was === is) return [];
    if (was === null) return [`${path}: new, ${is}`];
    return [is === null ? `${path}: gone, was ${was}` : `${path}: ${was} → ${is}`];
  });
  const [was, is] = [total(before), total(now)];
  return was === is ? steps : [...steps, `total: ${was} → ${is}`];
}

function said(step: StoredQuote["steps"][string] | undefined): string | null {
  if (step === undefined) return null;
  return step.model === null ? step.price : `${step.model}, ${step.price}`;
}

function total({ total: { min, max } }: StoredQuote): string {
  return max === min ? min : `${min} to ${max ?? "unknown"}`;
}
