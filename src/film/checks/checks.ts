import type { Inspected, MediaKind } from "../../core/define/index.ts";
import { FilmError } from "../ffmpeg/film-error.ts";
import type { ChatJudge, LanguageJudge } from "./verdict.ts";

/** Requirements for a film, image or sound. Only those that are set are checked. */
export interface Checks {
  /** Maximum number of seconds for which a film may be black; `true` means 0.5. A still image fails if it is black. */
  readonly notBlack?: boolean | number;
  /** Maximum number of seconds for which a film may be frozen; `true` means 2. */
  readonly notFrozen?: boolean | number;
  /** Maximum number of seconds of silence (below -50 dB); `true` means 2. Audio is required. */
  readonly notSilent?: boolean | number;
  /** Minimum and maximum duration in seconds. */
  readonly seconds?: readonly [least: number, most: number];
  /** Required size as displayed, in pixels, such as `1080x1920`. */
  readonly size?: `${number}x${number}`;
  /** Requires audio as loud as speech (above -35 dB) for at least a third of the film. The words are not checked. */
  readonly speech?: boolean;
  /**
   * Judges frames once all other checks have passed. Either a function that returns what is wrong (or null), or an AI
   * SDK language model.
   */
  readonly judge?: Judge | LanguageJudge;
  /** Version of `judge`. Change it when `judge` looks for different things. Default `"1"`. */
  readonly version?: string;
}

/** Checks whose `judge` is a chat model on the service. The model is called in a separate step. */
export interface JudgedChecks extends Omit<Checks, "judge"> {
  readonly judge: ChatJudge;
}

/** For each check, the kinds of media to which it does not apply. */
interface Blind {
  readonly notBlack: "audio";
  readonly notFrozen: "audio" | "image";
  readonly notSilent: "image";
  readonly seconds: "image";
  readonly size: "audio";
  readonly speech: "image";
  readonly judge: "audio";
}

/** The kinds of media to which all requested checks apply. */
export type LookedAt<C> = Exclude<
  MediaKind,
  {
    [N in keyof C & keyof Blind]-?: [Extract<C[N], false | undefined>] extends [never] ? Blind[N] : never;
  }[keyof C & keyof Blind]
>;

/** Makes unknown check names a type error. */
export type Known<C> = { readonly [N in Exclude<keyof C, keyof Checks>]: never };

/**
 * Judges three frames of a film, taken at 10, 50 and 90 percent of its length. They are JPEGs at most 768 pixels wide.
 */
export type Judge = (frames: readonly Uint8Array[], signal: AbortSignal) => Inspected | Promise<Inspected>;

export interface Limits {
  readonly black: number | null;
  readonly frozen: number | null;
  readonly silent: number | null;
}

export function limitsOf({ notBlack, notFrozen, notSilent }: Omit<Checks, "judge">): Limits {
  return {
    black: limit("notBlack", notBlack, 0.5),
    frozen: limit("notFrozen", notFrozen, 2),
    silent: limit("notSilent", notSilent, 2),
  };
}

function limit(name: keyof Checks, given: unknown, preset: number): number | null {
  if (given === undefined || given === false) return null;
  if (given === true) return preset;
  if (typeof given === "number" && given > 0 && given < 86_400) return given;
  throw bad(name, given, "use true, or a number of seconds such as 1.5");
}

const KNOWN = ["notBlack", "notFrozen", "notSilent", "seconds", "size", "speech", "judge", "version"];

export function checkChecks(checks: Checks | JudgedChecks): void {
  for (const name of Object.keys(checks))
    if (!KNOWN.includes(name)) throw new FilmError("FILM_INPUT", `unknown check ${name}; use ${KNOWN.join(", ")}`);
  limitsOf(checks);
  const { seconds, size, judge, version } = checks;
  const [least, most] = seconds ?? [0, 0];
  if (seconds !== undefined && !(seconds.length === 2 && least >= 0 && most >= least && most < 86_400))
    throw bad("seconds", seconds, "use a minimum and a maximum, such as [4, 6]");
  if (size !== undefined && !/^[1-9]\d{0,4}x[1-9]\d{0,4}$/.test(size))
    throw bad("size", size, "use pixels, such as 1080x1920");
  if (judge !== undefined && typeof judge !== "function") checkJudge(judge);
  if (version !== undefined && typeof version !== "string") throw bad("version", version, "use text");
}

function checkJudge(judge: ChatJudge | LanguageJudge): void {
  const { model, asks } = (judge ?? {}) as Partial<ChatJudge | LanguageJudge>;
  const isModel = typeof model === "string" ? model !== "" : typeof model?.doGenerate === "function";
  const next = 'use a function of frames, or { model: "chat-1", asks: "The bottle is whole." }';
  if (!isModel || typeof asks !== "string" || asks === "") throw bad("judge", isModel ? { asks } : judge, next);
}

export function isJudgedByChat(checks: Checks | JudgedChecks): checks is JudgedChecks {
  const { judge } = checks;
  return typeof judge === "object" && typeof judge.model === "string";
}

function bad(name: string, given: unknown, next: string): FilmError {
  return new FilmError("FILM_INPUT", `${name} is ${JSON.stringify(given) ?? String(given)}; ${next}`);
}
