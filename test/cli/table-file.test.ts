import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readInput } from "../../src/cli/input/read-input.ts";
import { readRows, withKnownIds } from "../../src/cli/input/rows-file.ts";
import { parseTable, readTextFile } from "../../src/cli/input/table-file.ts";
import { checkRunId } from "../../src/core/engine/options/options.ts";

const folder = mkdtempSync(join(tmpdir(), "showrunner-tables-"));
const io = { cwd: folder, ask: null };
const file = join(folder, "t.csv");

function read(bytes: Uint8Array, { encoding, ask = null }: Parameters<typeof asked>[0] = {}) {
  writeFileSync(file, bytes);
  return readTextFile(file, "--each", { encoding }, { ask });
}
declare function asked(how: {
  readonly encoding?: string;
  readonly ask?: ((question: string) => Promise<string>) | null;
}): void;

const latin = (text: string) => Buffer.from(text, "latin1");
const bigEndian = (text: string) => Buffer.from(text, "utf16le").swap16();

describe("the encoding of a table", () => {
  test.each([
    ["UTF-8", Buffer.from("a,é\n")],
    ["UTF-8 with a mark", Buffer.from("\uFEFFa,é\n")],
    ["UTF-16 little-endian with a mark", Buffer.from("\uFEFFa,é\n", "utf16le")],
    ["UTF-16 little-endian", Buffer.from("a,é\n", "utf16le")],
    ["UTF-16 big-endian with a mark", bigEndian("\uFEFFa,é\n")],
    ["UTF-16 big-endian", bigEndian("a,é\n")],
  ])("%s is found", async (_, bytes) => {
    expect((await read(bytes)).replace(/^\uFEFF/, "")).toBe("a,é\n");
  });

  test("what is no UTF-8 is asked about, with a line as it would read, and refused without a terminal", async () => {
    const bytes = latin("a\ncaf\xe9\n");
    let question = "";
    const ask = async (text: string) => {
      question = text;
      return "y";
    };
    expect(await read(bytes, { ask })).toBe("a\ncafé\n");
    expect(question).toContain("Read as Windows-1252, line 2 is: café");
    await expect(read(bytes, { ask: async () => "n" })).rejects.toMatchObject({ code: "NOT_CONFIRMED" });
    await expect(read(bytes)).rejects.toMatchObject({
      message: expect.stringContaining("is not UTF-8"),
      next: expect.stringContaining("--encoding, such as windows-1252"),
    });
    expect(await read(latin("\x93caf\xe9\x94"), { encoding: "windows-1252" })).toBe("“café”");
    await expect(read(bytes, { encoding: "utf-8" })).rejects.toThrow("is not valid utf-8");
    await expect(readTextFile(file, "--value @", null, { ask })).rejects.toMatchObject({ next: "save it as UTF-8" });
    await expect(read(bytes, { encoding: "klingon" })).rejects.toThrow("--encoding klingon");
  });
});

describe("rows of a table", () => {
  const cell = fc.string({
    unit: fc.constantFrom("a", "é", " ", ",", ";", "\t", '"', "\n", "\r\n", "語"),
    maxLength: 6,
  });
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

  test("are read whatever divides them, however they are quoted, with the lines that they begin on", () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(",", ";", "\t"),
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 }),
        async (delimiter, rows) => {
          const lines = rows.map((row) => row.map(quoted).join(delimiter));
          const table = await parseTable([["sku", "name", "look"].join(delimiter), ...lines].join("\n"), {});
          let line = 2;
          const expected = rows.flatMap((cells, at) => {
            const begun = line;
            line += lines[at]!.split("\n").length;
            return cells.every((text) => text.trim() === "") ? [] : [{ line: begun, cells }];
          });
          const header = { line: 1, cells: ["sku", "name", "look"] };
          expect(table).toEqual({ ok: true, header, rows: expected, decimalComma: delimiter === ";" });
        },
      ),
      { numRuns: 200 },
    ));

  test.each([",", ";", "\t"])(
    "what a spreadsheet leaves empty, rows and last columns, divided by %j, is no row",
    async (by) => {
      const text = [
        ["a", "b", "", ""],
        ["1", "2", "", " "],
        ["", " ", "", ""],
        ["3", ""],
        ["", "", ""],
        [],
        ["4", "5", " "],
      ];
      expect(await parseTable(text.map((cells) => cells.join(by)).join("\n"), {})).toMatchObject({
        header: { cells: ["a", "b"] },
        rows: [
          { line: 2, cells: ["1", "2"] },
          { line: 4, cells: ["3", ""] },
          { line: 7, cells: ["4", "5"] },
        ],
      });
    },
  );

  test("a quote that is never closed is told by the line that opens it", async () => {
    expect(await parseTable('a,b\n1,2\n3,"open ""it""\n4,5\n', {})).toMatchObject({ ok: false, line: 3 });
  });

  test("another character is named; what is none is refused", async () => {
    expect(await parseTable("a|b\n1|2", { delimiter: "|" })).toMatchObject({ rows: [{ cells: ["1", "2"] }] });
    expect(await parseTable("a,x\tb,y\n1\t2", { delimiter: "tab" })).toMatchObject({ rows: [{ cells: ["1", "2"] }] });
    await expect(parseTable("a", { delimiter: "||" })).rejects.toThrow("--delimiter ||");
  });
});

const schema = {
  properties: {
    slogan: { type: "string" },
    size: { type: "integer" },
    shots: { type: "array", items: { properties: { name: { type: "string" }, seconds: { type: "number" } } } },
  },
};

test("a number with a comma is read where semicolons divide the cells, and else named by row and column with its point", async () => {
  const of = { io, flags: {}, pipeline: "p", schema: { properties: { weight: { type: "number" } } }, base: {} };
  writeFileSync(join(folder, "rows.csv"), "weight;#n\n1,5;a\n-0,25;b\n2;c\n");
  const read = await readRows("rows.csv", of);
  expect(read.rows.map(({ input }) => input)).toEqual([{ weight: 1.5 }, { weight: -0.25 }, { weight: 2 }]);
  writeFileSync(join(folder, "rows.csv"), 'weight,#n\n"1,5",a\n"1,5,0",b\n');
  expect(await readRows("rows.csv", of)).toMatchObject({
    mistakes: [
      { line: 2, column: "weight", message: '"1,5" is not a number; write 1.5 with a decimal point' },
      { line: 3, column: "weight", message: '"1,5,0" is not a number' },
    ],
  });
});

test.each([
  ["rows.csv", "size,shots\n1e999,[]\n", ["size", "1e999 is too large to be stored as a number"]],
  ["rows.csv", `size,shots\n1,${"[".repeat(1500)}${"]".repeat(1500)}\n`, ["shots", "is nested deeper than 500 levels"]],
  ["rows.jsonl", '{"size": 1}\n{"size": -1e999}\n', ["10", "-1e999 is too large to be stored as a number"]],
  ["rows.jsonl", `{}\n{"#n": ${"[".repeat(1500)}${"]".repeat(1500)}}\n`, ["507", "is nested deeper than 500 levels"]],
])("a value in %s that cannot be stored is named by line and column (%#)", async (name, text, [column, message]) => {
  writeFileSync(join(folder, name), text);
  const read = await readRows(name, { io, flags: {}, pipeline: "p", schema, base: {} });
  expect(read).toMatchObject({ mistakes: [{ line: 2, column, message }] });
});

test("all that is wrong with rows stands in one list: cells, counts, columns", async () => {
  writeFileSync(join(folder, "rows.csv"), "slogan;size;colour\nfine;1;red\nwell;ten;red\ntoo;many;cells;here\nfew;1\n");
  const of = { io, flags: {}, pipeline: "p", schema, base: {} };
  expect(await readRows("rows.csv", of)).toEqual({
    mistakes: [
      { line: 4, column: null, message: "has 4 cells, but the header has 3" },
      { line: 5, column: null, message: "has 2 cells, but the header has 3" },
      { line: 1, column: "colour", message: expect.stringMatching(/^is not a field of the input; use one of slogan/) },
      { line: 3, column: "size", message: '"ten" is not an integer' },
    ],
    rows: [],
  });
});

test("rows with mistakes of their own leave the others, and their other cells, to be checked", async () => {
  writeFileSync(join(folder, "rows.csv"), "slogan;size\nfine;1\nwell;ten\nwell;elf\ntoo;many;cells\nfew\n");
  const read = await readRows("rows.csv", { io, flags: {}, pipeline: "p", schema, base: {} });
  expect(read.mistakes.map(({ line }) => line)).toEqual([5, 6, 3, 4]);
  expect(read.rows.map(({ line, input }) => [line, input])).toEqual([
    [2, { slogan: "fine", size: 1 }],
    [3, { slogan: "well" }],
    [4, { slogan: "well" }],
  ]);
  expect(new Set(read.rows.map(({ id }) => id)).size).toBe(3);
});

test("a column names the rows: in their ids, whatever the text, and as their titles", async () => {
  const name = join(folder, "ads.csv");
  const rows = async (text: string, more: { idColumn?: string; name?: string } = {}) => {
    writeFileSync(name, text);
    const open = { type: "object", additionalProperties: {} };
    const read = await readRows("ads.csv", { io, flags: {}, pipeline: "p", schema: open, base: {}, ...more });
    if (read.mistakes.length > 0) throw new Error(read.mistakes[0]!.message);
    return read.rows;
  };
  const of = (list: Awaited<ReturnType<typeof rows>>) => list.map(({ id, title }) => [id.slice(0, -13), title]);
  const table = "sku,#name\nA 1,Écharpe / Wool scarf\nB,世界\nC,\n";
  expect(of(await rows(table))).toEqual([
    ["ads-Echarpe-Wool-scarf", "Écharpe / Wool scarf"],
    ["ads", "世界"],
    ["ads", undefined],
  ]);
  expect(of(await rows(table, { idColumn: "sku", name: "june" })).map(([id]) => id)).toEqual([
    "june-A-1",
    "june-B",
    "june-C",
  ]);
  expect(of(await rows("sku\nA\n"))).toEqual([["ads", undefined]]);
  await expect(rows(table, { idColumn: "size" })).rejects.toThrow(
    "does not exist; set --id-column to one of sku, #name",
  );
  // The same row has the same run, whatever column names it; the rows of another name are others.
  const before = (await rows(table)).map(({ id }) => ({ runId: id }));
  const again = withKnownIds(await rows(table, { idColumn: "sku" }), before);
  expect(again.map(({ id }) => id)).toEqual(before.map(({ runId }) => runId));
  const others = await rows(table, { name: "ads-A" });
  expect(withKnownIds(others, before)).toEqual(others);
  for (const { id } of await rows(`sku,name\n${"x".repeat(90)},${"long / ".repeat(40)}\n`))
    expect(() => checkRunId(id)).not.toThrow();
});

test("the column that names the rows need be no field of the input; another one is a mistake", async () => {
  const closed = { type: "object", properties: { slogan: { type: "string" } }, additionalProperties: false };
  const rows = (text: string, idColumn?: string) => {
    writeFileSync(join(folder, "ads.csv"), text);
    return readRows("ads.csv", { io, flags: {}, pipeline: "p", schema: closed, base: {}, idColumn });
  };
  expect(await rows("sku,slogan\nA1,Good\n", "sku")).toMatchObject({
    rows: [{ title: "A1", input: { slogan: "Good" } }],
  });
  expect(await rows("name,slogan\nA1,Good\n")).toMatchObject({ rows: [{ title: "A1", input: { slogan: "Good" } }] });
  expect(await rows("sku,slogan\nA1,Good\n")).toMatchObject({ mistakes: [{ line: 1, column: "sku" }] });
});

test("-i reads a table as --each does, and says how a number is written", async () => {
  writeFileSync(join(folder, "shots.csv"), "name;seconds\nopen;3\nclose;\n");
  expect(await readInput({ i: ["shots=@shots.csv"] }, io, schema)).toEqual({
    shots: [{ name: "open", seconds: 3 }, { name: "close" }],
  });
  writeFileSync(join(folder, "shots.csv"), "name,second\nopen,3\n");
  await expect(readInput({ i: ["shots=@shots.csv"] }, io, schema)).rejects.toThrow("did you mean seconds? To keep");
  await expect(readInput({ i: ["size=12"] }, io, schema)).rejects.toMatchObject({
    message: '-i size=12: "=" sets text, but size has type integer',
    next: "write -i size:=12",
  });
});
