import { writeFile } from "node:fs/promises";
import {
  type Inspector,
  type LocalFile,
  type Media,
  type MediaKind,
  not,
  quorum,
  type TaskContext,
} from "../../core/define/index.ts";
import type { ChooseMethod, Chosen } from "../../core/define/steps/choose.ts";
import { type InspectingSteps, type InspectionSteps, NotAcceptedError, scorerOf } from "../../core/define/steps/job.ts";
import {
  type Checks,
  checkChecks,
  isJudgedByChat,
  type JudgedChecks,
  type Known,
  type LookedAt,
} from "../checks/checks.ts";
import { findFlaws, framesOf } from "../checks/find-flaws.ts";
import { type ChatJudge, INSTRUCTIONS, reasonsOf, type Verdict, verdictSchema } from "../checks/verdict.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { ffmpegWith } from "../ffmpeg/requirement.ts";

/**
 * Returns a value for the `accept` option of a job, such as `inspector({ notBlack: true, seconds: [4, 6] })`. A job
 * passes if its media pass these checks. @throws FilmError for an invalid check
 */
export function inspector<const C extends Checks | JudgedChecks>(checks: C & Known<C>): Inspector<LookedAt<C>> {
  checkChecks(checks);
  const { judge, version: own, ...looked } = checks;
  const judgedBy = typeof judge === "object" ? [nameOf(judge.model), judge.asks, own ?? "1"] : (own ?? "1");
  const version = JSON.stringify({ ...looked, ...(judge !== undefined && { judge: judgedBy }) });
  const requires = ffmpegWith("checks");
  const byFunctions = isJudgedByChat(checks) ? looked : checks;
  const inspect = (made: Parameters<Inspector>[0]) => findFlaws(made, byFunctions as Checks);
  if (!isJudgedByChat(checks)) return Object.assign(inspect, { version, requires });
  const local = { checks: looked, judge: checks.judge, version: JSON.stringify(looked) };
  const addSteps: Inspector["addSteps"] = (steps, name, media) =>
    addJudged(steps, name, media as Media<"video">, local);
  return Object.assign(inspect, { version, requires, addSteps });
}

const nameOf = (model: string | { readonly provider: string; readonly modelId: string }) =>
  typeof model === "string" ? model : `${model.provider}:${model.modelId}`;

/**
 * Checks a film, image or sound, and returns a handle that stands for it. Steps that use the handle start once the
 * check has passed. If there is a flaw, the step fails with an error that describes it. `choose` is the builder method
 * that the pipeline's `build` function receives.
 */
export function inspect<H extends Media<LookedAt<C>>, const C extends Checks>(
  choose: ChooseMethod,
  name: string,
  media: H,
  checks: C & Known<C>,
): Chosen<H>;
/**
 * Checks media, optionally with a chat model as the judge. With a judge, adds the steps `<name>-frames`,
 * `<name>-verdict` and `<name>-check`.
 */
export function inspect<H extends Media<LookedAt<C>>, const C extends Checks | JudgedChecks>(
  steps: InspectingSteps,
  name: string,
  media: H,
  checks: C & Known<C>,
): Chosen<H>;
export function inspect<H extends Media<MediaKind>>(
  steps: ChooseMethod | InspectingSteps,
  name: string,
  media: H,
  checks: Checks | JudgedChecks,
): Chosen<H> {
  const looking = inspector(checks);
  const { version, requires, addSteps } = looking;
  const choose = typeof steps === "function" ? steps : steps.choose;
  if (addSteps === undefined) return choose(name, [media], { by: scorerOf(looking), version, requires });
  if (typeof steps !== "function") return addSteps(steps, name, media).passed as Chosen<H>;
  const next = `pass the methods that add these steps: inspect({ task, chat, choose }, ${JSON.stringify(name)}, …)`;
  throw new FilmError("FILM_INPUT", `using a chat model as the judge requires additional steps; ${next}`);
}

class NoVerdictError extends Error {
  readonly code = "JUDGE_FAILED";
}

type Judged = Media<"image" | "video">;

/**
 * Adds the steps for checks with a chat model. `<name>-frames` extracts frames and runs the checks that need no model,
 * `<name>-verdict` asks the model, and `<name>-check` fails if there is a flaw.
 */
function addJudged(
  { task, chat, choose }: InspectingSteps,
  name: string,
  media: Judged,
  { checks, judge, version }: { readonly checks: Checks; readonly judge: ChatJudge; readonly version: string },
): InspectionSteps {
  if ((media.yields as string) === "audio")
    throw new FilmError("FILM_INPUT", `the judge of ${name} can evaluate only images, but ${media.step} makes audio`);
  const names = media.yields === "image" ? ["frame-1.jpg"] : ["frame-1.jpg", "frame-2.jpg", "frame-3.jpg"];
  const look = (given: { readonly made: LocalFile }, context: TaskContext) =>
    takeFrames(given.made, { checks, names, context });
  const files = Object.fromEntries(names.map((file) => [file, "image" as const]));
  const made = { made: media } as unknown as { readonly made: LocalFile };
  const frames = task(`${name}-frames`, made, look as never, { files, version, requires: ffmpegWith("checks") });
  const flaws = frames.value.at("flaws" as never);
  const asked = { system: INSTRUCTIONS, prompt: judge.asks, images: names.map((file) => frames.file(file)) };
  const verdict = chat(`${name}-verdict`, judge.model, asked, {
    schema: verdictSchema,
    when: not(flaws),
    ...(judge.maxCost !== undefined && { maxCost: judge.maxCost }),
  });
  // There is either a verdict or flaws, so one of the two inputs is enough.
  const check = task(`${name}-check`, { said: [flaws, verdict] }, (given) => decide(given.said as Said), {
    onFailure: quorum(1),
  });
  return { check, passed: choose(name, [media], { by: "first", when: check }) };
}

type Said = readonly [flaws: readonly string[], verdict?: Verdict];

function decide([flaws, verdict]: Said): true {
  const reasons = flaws.length > 0 || verdict === undefined ? flaws : reasonsOf(verdict);
  if (reasons.length > 0) throw new NotAcceptedError(reasons.join("; "));
  if (verdict === undefined) throw new NoVerdictError("the judge returned no verdict; see the verdict step");
  return true;
}

interface Taking {
  readonly checks: Checks;
  readonly names: readonly string[];
  readonly context: TaskContext;
}

async function takeFrames(
  { path }: LocalFile,
  { checks, names, context }: Taking,
): Promise<{ readonly flaws: readonly string[] }> {
  const { signal } = context;
  const found = await probe(path, { name: "the output", signal });
  if (found.video === null) throw new FilmError("FILM_INPUT", "it has no images to judge");
  const flaws = await findFlaws({ path, signal }, checks);
  const frames = await framesOf(found, found.video, signal);
  // If only the service knows the model's kind, the result may be a still image, which has only one frame.
  for (const [index, file] of names.entries()) await writeFile(context.file(file), frames[index] ?? frames[0]!);
  return { flaws };
}
