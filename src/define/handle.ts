import type { Yield } from "../plan/plan.ts";
import type { MediaKind } from "./media.ts";

/** What a handle stands for; `unknown` when the step's model is an untyped id, which only the catalog can tell about. */
export type Yields = Yield | "unknown";

/**
 * Stands for a result that does not exist yet. Using one inside another step's input is the edge between the two steps.
 * It has no value while the plan is made: text built from one throws.
 */
export interface Handle<Y extends Yields = Yields, F extends "single" | "list" = "single" | "list"> {
  /** Path of the step whose result this is. */
  readonly step: string;
  readonly yields: Y;
  /** `single` is one output; `list` is all of them, and goes where a list goes. */
  readonly form: F;
}

/** One output of a step. */
export interface OutputHandle<Y extends Yields = Yields> extends Handle<Y, "single"> {
  readonly index: number;
}

/** All outputs of a step, in order. Within a list of an input it spreads. */
export interface OutputsHandle<Y extends Yields = Yields> extends Handle<Y, "list"> {}

/** A paid job. Stands for its output where it makes just one. `N` is the most outputs that its model makes. */
export interface JobHandle<Y extends Yields = Yields, N extends number = number> extends Handle<Y, "single"> {
  /** One output, counted from 0. */
  output(index: IndexBelow<N>): OutputHandle<Y>;
  /** All outputs, as a list. */
  outputs(): OutputsHandle<Y>;
}

/** A local file on its way to the service. */
export interface UploadHandle<K extends MediaKind | "unknown" = MediaKind | "unknown"> extends Handle<K, "single"> {
  readonly file: string;
}

/** An asset that the account owns already. */
export interface AssetHandle<K extends MediaKind = MediaKind> extends Handle<K, "single"> {
  readonly assetId: string;
}

/** Where an input takes media of a kind: any handle of one such output. */
export interface Media<K extends MediaKind> {
  readonly step: string;
  readonly yields: K | "unknown";
  readonly form: "single";
}

/** All outputs of a step, where an input takes a list of media. */
export interface AllMedia<K extends MediaKind> {
  readonly step: string;
  readonly yields: K | "unknown";
  readonly form: "list";
}

/** Where an input takes a list of media: handles, `.outputs()`, or both. */
export type MediaList<K extends MediaKind> = AllMedia<K> | readonly (Media<K> | AllMedia<K>)[];

/** A voice that a step makes. */
export interface MadeVoice {
  readonly step: string;
  readonly yields: "voice" | "unknown";
  readonly form: "single";
}

/** Where an input takes a voice: the id of one, or the handle of a step that makes one. */
export type Voice = string | MadeVoice;

type Count<N extends number, Indexes extends readonly number[] = []> = Indexes["length"] extends N
  ? Indexes[number]
  : Indexes["length"] extends 32
    ? number
    : Count<N, readonly [...Indexes, Indexes["length"]]>;

/** 0 | 1 | … | N-1; any number when N is not a known small number. */
export type IndexBelow<N extends number> = number extends N ? number : Count<N>;
