import type { DraftJson } from "../../define/draft.ts";
import type { Json } from "../plan.ts";
import type { Placed, Spot } from "./job-input.ts";
import type { Planning } from "./kind.ts";
import { phrase, STAND_IN_MEDIA } from "./place-reference.ts";

type Literal = string | { readonly [key: string]: DraftJson };

/**
 * A literal where media belongs. An owned asset is fine; everything else has a better way, which the problem names.
 * Returns the value itself as its own sample when it is none of this function's business.
 */
export function checkMediaLiteral(value: Literal, spot: Spot, { report }: Planning): Placed {
  const untouched = { input: value as Json, sample: value as Json };
  const takes = spot.place?.takes;
  if (takes?.what !== "media") return untouched;
  const fault = faultOf(value, phrase(takes.kinds));
  if (fault === null) return untouched;
  spot.settle(spot.field);
  report(fault.code, spot.field, fault.message);
  return { input: value as Json, sample: STAND_IN_MEDIA };
}

interface Fault {
  readonly code: string;
  readonly message: string;
}

function faultOf(value: Literal, wanted: string): Fault | null {
  if (typeof value === "string") return textFault(value, wanted);
  if (value.source === "url" || (value.source === undefined && typeof value.url === "string"))
    return foreignUrl(wanted);
  if (typeof value.path === "string" && value.source === undefined) {
    const message = `takes ${wanted}, and this is a file on this machine; pass upload("name", file) instead`;
    return { code: "type", message };
  }
  const id = value.asset_id;
  if (typeof id !== "string" || id.startsWith("asset_")) return null;
  return id.startsWith("job_")
    ? { code: "asset-id", message: `${id} is a job; give the asset_id of one of its outputs` }
    : null;
}

function textFault(text: string, wanted: string): Fault {
  if (/^(?:https?|data|ftp):/i.test(text)) return foreignUrl(wanted);
  if (text.startsWith("asset_")) {
    return { code: "type", message: `takes ${wanted}; pass an asset as asset("image" | "video" | "audio", "${text}")` };
  }
  const message = `takes ${wanted}, not text; pass the handle of a step, or upload("name", "path/to/file")`;
  return { code: "type", message };
}

function foreignUrl(wanted: string): Fault {
  const message = `takes ${wanted} that the service has: a foreign URL is not read; download it and pass upload("name", "path/to/file")`;
  return { code: "foreign-url", message };
}
