export {
  type BodyBounds,
  bodyOfMessage,
  bodyOfRequest,
  isOfType,
  isRecord,
  jsonObject,
  passBytes,
  readBytes,
  readJson,
  tooLarge,
} from "./bodies.ts";
export { bytesResponse, mediaResponse } from "./bytes.ts";
export { decide, verdictIn } from "./decide.ts";
export { optionalPosition, optionalText, textField, textList, wholeNumber } from "./fields.ts";
export {
  inputChanges,
  problemFor,
  type Report,
  refusalFor,
  reported,
  stderrReport,
  Unplannable,
  unplannable,
} from "./for-callers.ts";
export {
  decoded,
  headOf,
  isSame,
  matchPath,
  routeOf,
  STREAM_BEAT,
  STREAM_BEAT_MS,
  STREAM_HEADERS,
  STREAM_START,
  streamFrame,
} from "./http.ts";
export { inTurn } from "./in-turn.ts";
export { keepFile } from "./keep-file.ts";
export { kindOfType, mediaHeaders } from "./media-type.ts";
export { quoteDocument } from "./quote-document.ts";
export { BusyRefusal, badRequest, notFound, Refusal } from "./refusal.ts";
export { committedMicros, leftOfBudget } from "./shared-budget.ts";
export { Shares } from "./shares.ts";
