import { sleep } from "../../api/index.ts";
import { attemptOf, planStep } from "../../journal/state.ts";
import { ownText } from "../../kit/clean-text.ts";
import { withRoutes } from "../../network/index.ts";
import type { GenerateModel, GenerateStep, ImageModel, SpeechModel, VideoModel } from "../../plan/kinds/generate.ts";
import type { Json } from "../../plan/plan.ts";
import { declaredOf } from "../../providers.ts";
import type { Command } from "../../run/command.ts";
import { lostAnswer } from "../../run/kinds/provider.ts";
import {
  completedEvents,
  keepOutputs,
  learnSecretsOf,
  type Made,
  madeOf,
  sealed,
  UnkeptError,
} from "../generate/keep-answer.ts";
import { failedRequest, submittedEvent, unknownOutcome, unsentRequest } from "../generate/verdict.ts";
import type { MediaStore, StoredMedia } from "../media/media-store.ts";
import { done, type EffectResult, FIRST_WAITS_MS, holdOnMs } from "../service/service-answers.ts";
import { beforeSending, type Effect, type EffectContext } from "./effect.ts";
import { withoutCopies } from "./ensure-copies.ts";
import { filesOf, localCode, modelInput } from "./local-code.ts";

type Generate = Extract<Command, { readonly type: "generate" }>;

/** Time limit for a model that responds only when the work is done and cannot be polled. */
const ANSWER_MS = { image: 10 * 60_000, audio: 10 * 60_000, video: 60 * 60_000 } as const;
const MOST_OPERATION_BYTES = 64 * 1024;

/** Sends the request. Stopping the run does not abort it, because the provider may charge for it anyway. */
export const generate: Effect<"generate"> = async (command, context) => {
  const ready = await beforeSending(() => prepared(command, context), context);
  if ("without" in ready) return unsentRequest(command, ready.without);
  return sent(command, ready.plan, ready, context);
};

async function prepared(command: Generate, context: EffectContext) {
  const found = localCode(context, command.step, "generate");
  if ("without" in found) return found;
  const plan = planStep(context.state, command.step) as GenerateStep;
  const files = filesOf(command.input);
  const without = files.length === 0 ? null : await withoutCopies(files, context);
  if (without !== null) return { without };
  return { plan, model: found.code.model, options: await callOptions(plan, command.input, context.media) };
}

interface Request {
  readonly model: GenerateModel;
  readonly options: { readonly [option: string]: unknown };
}

async function sent(
  command: Generate,
  plan: GenerateStep,
  { model, options }: Request,
  context: EffectContext,
): Promise<EffectResult> {
  const abortSignal = AbortSignal.timeout(ANSWER_MS[plan.yields]);
  const video = plan.yields === "video" ? (model as VideoModel) : null;
  const start = video?.doStatus === undefined ? undefined : video.doStart?.bind(video);
  try {
    if (start !== undefined) {
      const headers = keyHeader(plan, command.key);
      // Collect the model's secrets before sending, because the answer is recorded immediately and must not contain
      // them.
      const secrets = await learnSecretsOf(model);
      const { operation } = await withRoutes(() => start({ ...options, headers, abortSignal } as never));
      return accepted(command, plan, { operation, secrets }, context);
    }
    const once = model as ImageModel | SpeechModel;
    const answer = await withRoutes(() => once.doGenerate({ ...options, abortSignal } as never));
    return await answered(command, plan, answer, context);
  } catch (error) {
    await learnSecretsOf(model);
    return failedRequest(command, plan, { error, call: { options, isStart: start !== undefined } }, context);
  }
}

function keyHeader({ promise, provider }: GenerateStep, key: string): { readonly [header: string]: string } {
  const declared = promise === "keyed" ? declaredOf(provider).startKey : undefined;
  return declared === undefined ? {} : { [declared.header]: key };
}

function accepted(
  command: Generate,
  plan: GenerateStep,
  { operation, secrets }: { readonly operation: unknown; readonly secrets: readonly string[] },
  context: EffectContext,
): EffectResult {
  const text = jsonOf(operation);
  const sizeBytes = Buffer.byteLength(text ?? "");
  if (text === null || sizeBytes > MOST_OPERATION_BYTES) {
    const what = text === null ? "no reference to it" : `a reference of ${sizeBytes} bytes`;
    const why = ownText(`the provider accepted the request but returned ${what}, so the result cannot be fetched`);
    return unknownOutcome(command, plan, why, context);
  }
  return done({ ...submittedEvent(command, plan), operation: sealed(JSON.parse(text), secrets) });
}

function jsonOf(given: unknown): string | null {
  try {
    return JSON.stringify(given) ?? null;
  } catch {
    return null;
  }
}

type Answer = Awaited<
  ReturnType<ImageModel["doGenerate"] | SpeechModel["doGenerate"] | NonNullable<VideoModel["doGenerate"]>>
>;

async function answered(
  command: Generate,
  plan: GenerateStep,
  answer: Answer,
  context: EffectContext,
): Promise<EffectResult> {
  const outputs = mediaOf(answer);
  if (outputs === null)
    return unknownOutcome(command, plan, ownText("the provider's response contains no media"), context);
  const attempt = attemptOf(context.state, command);
  const known = new Map<number, StoredMedia>();
  for (let tries = 0; ; tries += 1) {
    try {
      const kept = await keepOutputs(plan, outputs, context, known);
      const metadata = answer.providerMetadata;
      return done(submittedEvent(command, plan), ...completedEvents(plan, attempt, { kept, metadata }));
    } catch (error) {
      if (!(error instanceof UnkeptError)) throw error;
      // The bytes exist nowhere else, so keep retrying for longer after a full disk or an unreachable bucket.
      const isHeld = !error.isUnfetched && !context.signal.aborted;
      const waitMs = isHeld ? holdOnMs(tries) : (FIRST_WAITS_MS[tries] ?? null);
      if (waitMs === null) return unkept(command, plan, error, context);
      await sleep(context.clock, waitMs).catch(() => {});
    }
  }
}

function mediaOf(answer: Answer): readonly Made[] | null {
  if (typeof answer !== "object" || answer === null) return null;
  if ("images" in answer && Array.isArray(answer.images)) return madeOf(answer.images);
  if ("videos" in answer && Array.isArray(answer.videos)) return madeOf(answer.videos);
  if ("audio" in answer) {
    // Wrapped audio, as the AI SDK's own functions return it, is not accepted.
    const { audio } = answer;
    return typeof audio === "string" || audio instanceof Uint8Array ? madeOf([audio]) : null;
  }
  return null;
}

function unkept(command: Generate, plan: GenerateStep, { said: why, kept }: UnkeptError, { state }: EffectContext) {
  return done(...lostAnswer(plan, attemptOf(state, command), { why, kept }));
}

const unset = (...fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, undefined]));
const PICTURE = ["prompt", "aspectRatio", "seed"];

/** Default options for each kind of call. Models expect every option to be present, even if it is undefined. */
const ALL_FIELDS = {
  image: { n: 1, ...unset(...PICTURE, "size", "files", "mask") },
  video: {
    n: 1,
    ...unset(...PICTURE, "resolution", "duration", "fps", "image", "frameImages", "inputReferences", "generateAudio"),
  },
  audio: {},
};

async function callOptions(
  { yields }: GenerateStep,
  input: Json,
  media: MediaStore,
): Promise<{ readonly [option: string]: unknown }> {
  const given = (await modelInput(input, media)) as { readonly [option: string]: unknown };
  return { ...ALL_FIELDS[yields], providerOptions: {}, ...given };
}
