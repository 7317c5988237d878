import { parseJson, positionAt } from "../../json-text.ts";
import { bodiesOf, collected, sourceOf } from "./bodies.ts";
import { locate, type RepeatedKey, repeatedKeys } from "./locate.ts";
import { type Position, type ReadBodies, type ReadProblem, readProblem, type V2Source } from "./source.ts";

/** Parses a text: a JSON document, or JSON Lines. */
export function readText(given: string): ReadBodies {
  const text = given.replace(/^\uFEFF/, "");
  if (text.trim() === "") return nothing({ ...problem("empty", "the text is empty"), line: 1, column: 1 });
  if (/^\s*</.test(text)) {
    const message = "is HTML or XML, not JSON; it may be an error page that was saved in place of the bodies";
    return nothing({ ...problem("not-json", message), ...positionAt(text, text.search(/\S/)) });
  }
  const parsed = parseJson(text);
  if ("value" in parsed) {
    const read = bodiesOf(parsed.value);
    const twice = repeatedKeys(text).map((key) => ({
      ...repeated(key, "the document"),
      ...positionAt(text, key.offset),
    }));
    return withPositions({ ...read, problems: [...read.problems, ...twice] }, (sources) => positionsIn(text, sources));
  }
  const { line, column, message } = parsed.mistake;
  if (isLines(text)) return readLines(text.split("\n"));
  return nothing({ ...problem("not-json", `is not valid JSON: ${message}`), line, column });
}

/** Some line is a JSON object by itself, and the first starts neither a list nor a multi-line object. */
function isLines(text: string): boolean {
  if (/^\s*(?:\[|\{\s*\n)/.test(text)) return false;
  const lines = text.split("\n", 200).filter((line) => line.trim() !== "");
  return lines.length > 1 && lines.some((line) => /^\s*\{.*\}\s*$/.test(line) && "value" in parseJson(line));
}

/** JSON Lines: an invalid line is a problem of that line alone. */
export function readLines(lines: readonly string[]): ReadBodies {
  const reads: (V2Source | ReadProblem)[] = [];
  const lineOf = new Map<string, number>();
  lines.forEach((text, index) => {
    if (text.trim() === "") return;
    const at = `line ${index + 1}`;
    lineOf.set(at, index);
    const parsed = parseJson(text);
    if ("value" in parsed) {
      reads.push(sourceOf(parsed.value, at, []));
      for (const key of repeatedKeys(text))
        reads.push({ ...repeated(key, at), line: index + 1, column: key.offset + 1 });
      return;
    }
    const message = `is not valid JSON: ${parsed.mistake.message}`;
    reads.push({ ...readProblem("not-json", at, null, message), line: index + 1, column: parsed.mistake.column });
  });
  return withPositions({ format: "lines", left: [], ...collected(reads) }, (requested) =>
    requested.map(({ at, path }) => {
      const index = lineOf.get(at) ?? 0;
      const [offset = 0] = locate(lines[index] ?? "", [path]);
      return { line: index + 1, column: offset + 1 };
    }),
  );
}

function repeated({ key }: RepeatedKey, at: string): ReadProblem {
  const message = `${JSON.stringify(key)} stands twice in one object; only the last one is migrated`;
  return readProblem("repeated-key", at, null, message);
}

interface ValuePath {
  readonly at: string;
  readonly path: V2Source["path"];
}

function positionsIn(text: string, requested: readonly ValuePath[]): readonly Position[] {
  const offsets = locate(
    text,
    requested.map(({ path }) => path),
  );
  const order = offsets.map((offset, index) => ({ offset, index })).sort((a, b) => a.offset - b.offset);
  const positions = requested.map((): Position => ({ line: 1, column: 1 }));
  let [line, start] = [1, 0];
  let next = text.indexOf("\n");
  for (const { offset, index } of order) {
    for (; next >= 0 && next < offset; next = text.indexOf("\n", next + 1)) {
      line++;
      start = next + 1;
    }
    positions[index] = { line, column: offset - start + 1 };
  }
  return positions;
}

/** Adds locations to problems that have a path, and keeps the function that finds more. */
function withPositions(
  read: Omit<ReadBodies, "locate">,
  find: (requested: readonly ValuePath[]) => readonly Position[],
): ReadBodies {
  const open = read.problems.filter(({ path, line }) => path !== null && line === null);
  const positions = open.length === 0 ? [] : find(open.map(({ at, path }) => ({ at, path: path ?? [] })));
  const positionOf = new Map(open.map((one, index) => [one, positions[index]]));
  return {
    ...read,
    problems: read.problems.map((one) => ({ ...one, ...positionOf.get(one) })),
    locate: (requested) =>
      find(requested.map(({ source, path }) => ({ at: source.at, path: [...source.path, ...path] }))),
  };
}

function nothing(one: ReadProblem): ReadBodies {
  return { format: "none", left: [], sources: [], problems: [one], locate: null };
}

function problem(code: string, message: string): ReadProblem {
  return readProblem(code, "the document", null, message);
}
