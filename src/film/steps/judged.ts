import { writeFile } from "node:fs/promises";
import { type LocalFile, type Media, not, quorum, type TaskContext } from "../../core/define/index.ts";
import { type InspectingSteps, type InspectionSteps, NotAcceptedError } from "../../core/define/steps/accept.ts";
import type { Checks } from "../checks/checks.ts";
import { findFlaws } from "../checks/find-flaws.ts";
import { framesOf } from "../checks/frames.ts";
import { type ChatJudge, INSTRUCTIONS, reasonsOf, type Verdict, verdictSchema } from "../checks/verdict.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { probe } from "../ffmpeg/probe.ts";
import { ffmpegWith } from "../ffmpeg/requirement.ts";

/** Nobody said whether it is right. */
class NoVerdictError extends Error {
  readonly code = "JUDGE_FAILED";
}

type Judged = Media<"image" | "video">;

/**
 * A film or a picture judged by a chat model, as steps: `<name>-frames` looks for flaws and takes frames, `<name>-verdict`
 * asks the model unless there are flaws, `<name>-check` fails with the reasons, and `<name>` stands for what passed.
 */
export function addJudged(
  { task, chat, choose }: InspectingSteps,
  name: string,
  media: Judged,
  { checks, judge, version }: { readonly checks: Checks; readonly judge: ChatJudge; readonly version: string },
): InspectionSteps {
  if ((media.yields as string) === "audio")
    throw new FilmError("FILM_INPUT", `${name} has a judge, which looks at pictures, and ${media.step} makes audio`);
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
  // Without flaws there is a verdict, with flaws there is none: one of them is enough.
  const check = task(`${name}-check`, { said: [flaws, verdict] }, (given) => decide(given.said as Said), {
    onFailure: quorum(1),
  });
  return { check, passed: choose(name, [media], { by: "first", when: check }) };
}

type Said = readonly [flaws: readonly string[], verdict?: Verdict];

function decide([flaws, verdict]: Said): true {
  const reasons = flaws.length > 0 || verdict === undefined ? flaws : reasonsOf(verdict);
  if (reasons.length > 0) throw new NotAcceptedError(reasons.join("; "));
  if (verdict === undefined) throw new NoVerdictError("the judge gave no verdict; see the step of its question");
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
  const found = await probe(path, { name: "what was made", signal });
  if (found.video === null) throw new FilmError("FILM_INPUT", "it has no pictures to judge");
  const flaws = await findFlaws({ path, signal }, checks);
  const frames = await framesOf(found, signal);
  // A still picture of a model whose kind only the service knows is one frame, where a film has three.
  for (const [index, file] of names.entries()) await writeFile(context.file(file), frames[index] ?? frames[0]!);
  return { flaws };
}
