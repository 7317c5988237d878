import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { httpContextOf } from "../../core/api/client.ts";
import { ApiError } from "../../core/api/errors/api-error.ts";
import { call, type HttpContext } from "../../core/api/http/call.ts";
import { askableOf, isSettled, nextPage, withPage } from "./askable.ts";
import { isRecord } from "./cleaner.ts";
import { type Answered, type Drift, driftOf } from "./drift.ts";
import { RECORDING_FILE, RECORDING_VERSION } from "./recorded-values.ts";
import { RecordingError } from "./recording-error.ts";
import { parsed } from "./recording-file.ts";

export interface CompareOptions {
  /** Of a recording. */
  readonly folder: string;
  /** The service to ask; it gets the key, whatever service the recording names. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
}

export interface Comparison {
  /** Requests that were sent again, a list of several pages as one. */
  readonly asked: number;
  /** Estimates that were not, as media or secrets of their inputs are not recorded. */
  readonly notAsked: number;
  readonly differences: readonly Drift[];
}

/** More pages of a list are not read. */
const MOST_PAGES = 1000;

/**
 * Asks a service again what was recorded and costs nothing (catalog, schemas, estimates), and compares.
 * @throws RecordingError, and what the client throws where the service gives no answer of its own
 */
export async function compareNow({ folder, baseUrl, apiKey }: CompareOptions): Promise<Comparison> {
  const { answers, notAsked } = askableOf(await readAnswers(folder));
  if (answers.length === 0) throw nothing(folder, "holds no answer of the catalog and no estimate to ask for again");
  const http = httpContextOf({ baseUrl, apiKey });
  try {
    const differences: Drift[] = [];
    for (const was of answers) differences.push(...driftOf(was, await wholeAnswer(http, was)));
    return { asked: answers.length, notAsked, differences };
  } finally {
    http.pacer.close();
    await http.transport.close();
  }
}

async function wholeAnswer(http: HttpContext, { request, body }: Answered): Promise<Answered> {
  let list = await ask(http, request, body);
  for (let pages = 1, next = nextPage(list); next !== null && pages < MOST_PAGES; pages += 1, next = nextPage(list)) {
    const page = await ask(http, next, undefined);
    if (page.status !== 200) break;
    list = withPage(list, page);
  }
  return list;
}

async function ask(http: HttpContext, request: string, body: unknown): Promise<Answered> {
  const [method, target = ""] = request.split(" ", 2);
  const [path = "", query] = target.split("?", 2);
  const sent = {
    method: method === "POST" ? ("POST" as const) : ("GET" as const),
    path,
    query: Object.fromEntries(new URLSearchParams(query)),
    json: body,
    requestClass: "read" as const,
    repeat: "always" as const,
    priority: 0,
  };
  try {
    const { status, body: answer } = await call(http, sent);
    return { request, status, answer };
  } catch (error) {
    if (error instanceof ApiError && isSettled(error.status)) return { request, status: error.status };
    throw error;
  }
}

/** The answers of a recording; a line that a killed recorder left torn is passed over. @throws RecordingError */
async function readAnswers(folder: string): Promise<readonly Answered[]> {
  let text: string;
  try {
    text = await readFile(join(folder, RECORDING_FILE), "utf8");
  } catch (cause) {
    const isMissing = ["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "");
    throw nothing(folder, isMissing ? "holds no recording" : "cannot be read", cause);
  }
  const [head, ...lines] = text.split("\n").map(parsed);
  if (!isRecord(head) || head.recording !== RECORDING_VERSION) {
    throw nothing(folder, `holds no recording of version ${RECORDING_VERSION}`);
  }
  return lines.flatMap((line) => {
    if (!isRecord(line) || typeof line.request !== "string" || typeof line.status !== "number") return [];
    const { request, body, status, answer } = line;
    return [{ request, body, status, answer }];
  });
}

function nothing(folder: string, why: string, cause?: unknown): RecordingError {
  return new RecordingError(`${folder} ${why}.`, { next: `showrunner record ${folder}`, cause });
}
