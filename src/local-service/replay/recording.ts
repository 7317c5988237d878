import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LocalServiceError, systemCode } from "../errors.ts";
import { parsed } from "../json.ts";
import {
  RECORDING_FILE,
  RECORDING_VERSION,
  type RecordedAnswer,
  type RecordedAsset,
  recordedAnswer,
  recordedAsset,
  recordingHead,
} from "../recording/recorded-values.ts";

export interface Recording {
  readonly folder: string;
  readonly service: string;
  readonly startedAt: number;
  readonly answers: readonly RecordedAnswer[];
  readonly assets: ReadonlyMap<string, RecordedAsset>;
  readonly tornLine: number | null;
}

const MOST_BYTES = 300 * 1024 * 1024;
const MOST_LINES = 1_000_000;

/**
 * Reads a recording. Ignores an incomplete last line, which a killed recorder may leave.
 * @throws LocalServiceError
 */
export function readRecording(folder: string): Recording {
  const path = join(folder, RECORDING_FILE);
  const lines = readPlainFile(path, folder).toString("utf8").split("\n");
  const tornLine = lines.pop() === "" ? null : lines.length + 1;
  const [first = "", ...rest] = lines;
  const known = recordingHead.safeParse(parsed(first));
  if (!known.success) throw unusable(path, `the file is not a version ${RECORDING_VERSION} recording`);
  if (rest.length > MOST_LINES) throw unusable(path, `the file has more than ${MOST_LINES} lines`);
  const answers: RecordedAnswer[] = [];
  const assets = new Map<string, RecordedAsset>();
  for (const [index, line] of rest.entries()) {
    const value = parsed(line);
    const asset = recordedAsset.safeParse(value);
    if (asset.success) {
      assets.set(asset.data.asset, asset.data);
      continue;
    }
    const read = recordedAnswer.safeParse(value);
    if (!read.success) {
      const [issue] = read.error.issues;
      throw unusable(path, `line ${index + 2} is invalid: ${issue?.path.join(".") || "line"}: ${issue?.message}`);
    }
    answers.push(read.data);
  }
  const { service, started_at: startedAt } = known.data;
  return { folder, service, startedAt: Date.parse(startedAt), answers, assets, tornLine };
}

export function openPlainFile(path: string): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error("the path is not a regular file");
}

function readPlainFile(path: string, folder: string): Buffer {
  let file: number;
  try {
    file = openPlainFile(path);
  } catch (cause) {
    const what = systemCode(cause) === "ENOENT" ? "the file does not exist" : (cause as Error).message;
    throw unusable(path, `${what}. Make a recording: showrunner record ${folder}`, cause);
  }
  try {
    const { size } = fstatSync(file);
    if (size > MOST_BYTES) throw unusable(path, `the file is larger than ${MOST_BYTES} bytes`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function unusable(path: string, why: string, cause?: unknown): LocalServiceError {
  return new LocalServiceError("RECORDING_UNUSABLE", `${path} cannot be replayed: ${why}`, { cause });
}
