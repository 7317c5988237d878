// What servers of this machine share: the dashboard, the handler for any server, and the server for agents.
export { bytesResponse, mediaResponse } from "./bytes.ts";
export { decide, verdictIn } from "./decide.ts";
export { STREAM_BEAT, STREAM_BEAT_MS, STREAM_HEADERS, STREAM_START, streamFrame } from "./event-stream.ts";
export { optionalPosition, optionalText, textField, textList, wholeNumber } from "./fields.ts";
export {
  type Audience,
  endText,
  inputChanges,
  isDecided,
  problemFor,
  type Report,
  refusalFor,
  reported,
  runText,
  stderrReport,
  stepText,
  Unplannable,
  unplannable,
} from "./for-callers.ts";
export { inTurn } from "./in-turn.ts";
export { keepFile } from "./keep-file.ts";
export { decoded, matchPath, routeOf } from "./match-path.ts";
export { kindOfType, mediaHeaders } from "./media-type.ts";
export { headOf, sendResponse } from "./node-http.ts";
export {
  type BodyBounds,
  bodyOfMessage,
  bodyOfRequest,
  passBytes,
  readBytes,
  tooLarge,
} from "./read-bytes.ts";
export { isOfType, isRecord, jsonObject, readJson } from "./read-json.ts";
export { BusyRefusal, badRequest, notFound, Refusal } from "./refusal.ts";
export { isSame } from "./same-secret.ts";
export { committedMicros, leftOfBudget } from "./shared-budget.ts";
export { Shares } from "./shares.ts";
