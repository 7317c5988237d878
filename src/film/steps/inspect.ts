import type { Inspector, Media, MediaKind } from "../../core/define/index.ts";
import { type InspectingSteps, scorerOf } from "../../core/define/steps/accept.ts";
import type { ChooseMethod, Chosen } from "../../core/define/steps/choose.ts";
import {
  type Checks,
  checkChecks,
  isJudgedByChat,
  type JudgedChecks,
  type Known,
  type LookedAt,
} from "../checks/checks.ts";
import { findFlaws } from "../checks/find-flaws.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import { ffmpegWith } from "../ffmpeg/requirement.ts";
import { addJudged } from "./judged.ts";

/**
 * What `accept` of a job takes: `job("film", model, input, { accept: inspector({ notBlack: true, seconds: [4, 6] }) })`.
 * @throws FilmError for what is no check
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
 * A step that looks at a film, a picture or a sound, and stands for it: what uses it begins once it was found right. A flaw
 * fails the step, which says what it is. `choose` is the method of `build`.
 */
export function inspect<H extends Media<LookedAt<C>>, const C extends Checks>(
  choose: ChooseMethod,
  name: string,
  media: H,
  checks: C & Known<C>,
): Chosen<H>;
/** With a judge that is a chat model: steps `<name>-frames`, `<name>-verdict` and `<name>-check` before it. */
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
  const next = `give the methods that it needs: inspect({ task, chat, choose }, ${JSON.stringify(name)}, …)`;
  throw new FilmError("FILM_INPUT", `a judge that is a chat model adds steps; ${next}`);
}
