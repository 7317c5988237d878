import type { Yield } from "../plan/plan.ts";
import type { MediaKind } from "./media.ts";

/** Where a handle points, read by the planner. */
export const target: unique symbol = Symbol("showrunner.target");

/** Type-level only: what the handle stands for. */
declare const stands: unique symbol;

export interface Target {
  readonly step: string;
  readonly yields: Yield | null;
  readonly isUpload: boolean;
  readonly output: number | "all" | "chosen";
}

/** A result that does not exist yet. Using one inside another step's input is the edge between the two. */
export interface Handle<Y extends Yield> {
  readonly [target]: Target;
  readonly [stands]: Y;
}

/** One output of a job with several. */
export interface OutputHandle<Y extends Yield> extends Handle<Y> {
  readonly index: number;
}

/** All outputs of a job, in order: spreads into a list of media. */
export interface OutputsHandle<Y extends Yield> {
  readonly [target]: Target;
  readonly [stands]: readonly Y[];
}

/** A paid job; assignable wherever its single (first) output fits. `Max` is how many outputs its model can have. */
export interface JobHandle<Y extends Yield, Max extends number = number> extends Handle<Y> {
  readonly name: string;
  /** One output by its position, from 0. */
  output(index: IndexBelow<Max>): OutputHandle<Y>;
  /** All outputs, as a list. */
  outputs(): OutputsHandle<Y>;
}

/** A local file on its way to the service. */
export interface UploadHandle<K extends MediaKind> extends Handle<K> {
  readonly name: string;
  readonly isUpload: true;
}

/** What a media field of a model takes. */
export type Media<K extends MediaKind> = Handle<K> | AssetReference;

/** What a list of media takes: single ones, or all outputs of a job. */
export type MediaList<K extends MediaKind> = readonly (Media<K> | OutputsHandle<K>)[] | OutputsHandle<K>;

/** What a voice field takes: a voice id, or a job that makes a voice. */
export type Voice = string | Handle<"voice">;

/** An asset that the account owns already, by its id. */
export interface AssetReference {
  readonly source: "asset";
  readonly asset_id: string;
}

type IndexBelow<Max extends number> = number extends Max
  ? number
  : Max extends 1
    ? 0
    : Max extends 2
      ? 0 | 1
      : Max extends 3
        ? 0 | 1 | 2
        : Max extends 4
          ? 0 | 1 | 2 | 3
          : number;

export function makeJobHandle(name: string, yields: Yield | null): JobHandle<Yield> {
  const at = (output: Target["output"]): Target => ({ step: name, yields, isUpload: false, output });
  return {
    name,
    [target]: at(0),
    output: (index: number) => ({ [target]: at(index), index }),
    outputs: () => ({ [target]: at("all") }),
  } as JobHandle<Yield>;
}

export function makeUploadHandle<K extends MediaKind>(name: string, kind: K): UploadHandle<K> {
  return {
    name,
    isUpload: true,
    [target]: { step: name, yields: kind, isUpload: true, output: 0 },
  } as unknown as UploadHandle<K>;
}

export function targetOf(value: unknown): Target | null {
  return typeof value === "object" && value !== null && target in value ? (value as Handle<Yield>)[target] : null;
}
