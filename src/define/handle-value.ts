import { HandleMisuseError } from "./errors.ts";
import type { AssetHandle, Handle, JobHandle, OutputHandle, OutputsHandle, UploadHandle, Yields } from "./handle.ts";
import type { MediaKind } from "./media.ts";

/** Shared by all copies of this module in a process, so that a handle is known wherever it comes from. */
const POINTER = Symbol.for("showrunner.handle");

/** What a handle points at. `single` is the one output of a step that makes one. */
export type Pointer =
  | {
      readonly to: "step";
      readonly step: string;
      readonly output: number | "all" | "single";
      /** Identity of the build that made it. */
      readonly build: object;
    }
  | { readonly to: "asset"; readonly assetId: string; readonly kind: MediaKind };

interface Marked {
  readonly [POINTER]: Pointer;
}

/** The pointer of a handle; null for every other value. */
export function pointerOf(value: unknown): Pointer | null {
  return typeof value === "object" && value !== null && POINTER in value ? (value as Marked)[POINTER] : null;
}

function mark<H extends Handle>(facts: Omit<H, "toString">, pointer: Pointer): H {
  const refuse = (): never => {
    throw new HandleMisuseError(pointer.to === "step" ? pointer.step : pointer.assetId);
  };
  const handle: object = { ...facts };
  const hidden = { [POINTER]: pointer, toString: refuse, toJSON: refuse, [Symbol.toPrimitive]: refuse };
  for (const key of Reflect.ownKeys(hidden)) {
    Object.defineProperty(handle, key, { value: Reflect.get(hidden, key), enumerable: false });
  }
  return Object.freeze(handle) as H;
}

export function jobHandle<Y extends Yields, N extends number>(step: string, yields: Y, build: object): JobHandle<Y, N> {
  const to = "step";
  return mark<JobHandle<Y, N>>(
    {
      step,
      yields,
      form: "single",
      output: (index: number) =>
        mark<OutputHandle<Y>>({ step, yields, form: "single", index }, { to, step, output: index, build }),
      outputs: () => mark<OutputsHandle<Y>>({ step, yields, form: "list" }, { to, step, output: "all", build }),
    },
    { to, step, output: "single", build },
  );
}

export function uploadHandle<K extends MediaKind | "unknown">(
  step: string,
  yields: K,
  from: { readonly file: string; readonly build: object },
): UploadHandle<K> {
  const pointer: Pointer = { to: "step", step, output: "single", build: from.build };
  return mark<UploadHandle<K>>({ step, yields, form: "single", file: from.file }, pointer);
}

/**
 * An asset that the account owns already, such as an output of an earlier run, as media of a step's input.
 * `assetId` is an `asset_…` of `outputs[]`, not a job id.
 */
export function asset<K extends MediaKind>(kind: K, assetId: string): AssetHandle<K> {
  const facts = { step: `asset ${assetId}`, yields: kind, form: "single", assetId } as const;
  return mark<AssetHandle<K>>(facts, { to: "asset", assetId, kind });
}
