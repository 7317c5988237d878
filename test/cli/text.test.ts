import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createOutput } from "../../src/cli/io.ts";
import { createProgram } from "../../src/cli/program.ts";
import { visible, withoutControl } from "../../src/cli/text/escape.ts";
import { inSentence, nextLines, serviceFlags } from "../../src/cli/text/next-line.ts";
import { shorten, table } from "../../src/cli/text/table.ts";
import { formatDuration, parseDuration } from "../../src/core/kit/duration.ts";
import { COMMANDS } from "../../src/core/kit/launcher.ts";
import { dollars, parseUsd } from "../../src/core/kit/money.ts";
import { anyCharacter } from "../support/any-character.ts";
import { fakeIo } from "./support/fake-io.ts";

const esc = "\u001b";

describe("text from outside", () => {
  test("shows escape sequences, line breaks and reordering marks as codes", () => {
    expect(visible(`a${esc}[2Jb\nc\u202Ed\u0007`)).toBe("a\\u001b[2Jb\\nc\\u202ed\\u0007");
  });

  test("keeps letters of every script, emoji and accents", () => {
    expect(visible("näive 東京 🎬 עברית")).toBe("näive 東京 🎬 עברית");
  });

  test("never lets a control character through, whatever it is given", () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => !/\p{Cc}/u.test(visible(text))));
  });

  test("the last filter passes our own colours and line breaks, and nothing else", () => {
    expect(withoutControl(`${esc}[31mred${esc}[39m\n${esc}]0;title\u0007`)).toBe(
      `${esc}[31mred${esc}[39m\n\\u001b]0;title\\u0007`,
    );
  });

  test("a text too long ends in an ellipsis and fits", () => {
    expect(shorten("abcdef", 4)).toBe("abc…");
    expect(shorten("abcd", 4)).toBe("abcd");
  });

  test("ideographs and emoji take two columns, combining marks none", () => {
    expect(shorten("東京の夜明け", 7)).toBe("東京の…");
    expect(shorten("👩‍👩‍👧 at sea", 6)).toBe("👩‍👩‍👧 at…");
    expect(shorten("cafe\u0301", 4)).toBe("cafe\u0301");
    const columns = [
      { title: "a", value: ([a]: readonly string[]) => a! },
      { title: "b", value: ([, b]: readonly string[]) => b! },
    ];
    expect(
      table(
        [
          ["東京", "1"],
          ["abcd", "2"],
        ],
        columns,
      ),
    ).toBe("a     b\n東京  1\nabcd  2");
  });
});

describe("money", () => {
  test.each([
    [0, "$0.00"],
    [290_000, "$0.29"],
    [1_500, "$0.0015"],
    [12_000_000, "$12.00"],
    [661_080, "$0.66"],
    [1_234, "$0.0012"],
    [5, "$0.000005"],
    [9_999, "$0.01"],
    [301_000, "$0.30"],
    [-50_000, "-$0.05"],
  ])("%i micro-dollars read %s", (micros, text) => expect(dollars(micros)).toBe(text));

  test("what is shown is within half a cent, or of less than a cent within a twentieth; the most is never shown as less", () => {
    fc.assert(
      fc.property(fc.nat(10 ** 12), (micros) => {
        const distance = Math.abs(parseUsd(dollars(micros).slice(1))! - micros);
        const isNear = distance <= (micros < 10_000 ? micros / 20 : 5_000);
        return isNear && parseUsd(dollars(micros, Math.ceil).slice(1))! >= micros;
      }),
    );
  });

  test("a decimal of a report reads like the same micro-dollars", () => {
    expect(dollars("0.66108")).toBe("$0.66");
  });

  test.each(["", "five", "1.2345678", "-1", "1e3", "1,50", "NaN"])("%j is no amount", (text) =>
    expect(parseUsd(text)).toBeNull(),
  );
});

describe("durations", () => {
  test.each([
    ["90s", 90_000],
    ["10m", 600_000],
    ["1h30m", 5_400_000],
    ["250ms", 250],
    ["1.5s", 1500],
  ])("%s is %i ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

  test.each(["", "10", "10 m", "m", "-5s"])("%j is none", (text) => expect(parseDuration(text)).toBeNull());

  test.each([
    [840, "840 ms"],
    [2100, "2.1 s"],
    [185_000, "3 min 05 s"],
    [7_800_000, "2 h 10 min"],
  ])("%i ms reads %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
});

test("a command within a sentence, or within a remark, reaches the journal that was given; one that names its own stays", () => {
  const flags = ["--journal 'my runs/j.db'", "--local"];
  expect(inSentence("Fetch it again: showrunner resume r", flags)).toBe(
    "Fetch it again: showrunner resume --journal 'my runs/j.db' r",
  );
  for (const text of ["showrunner resume r --journal x", "a showrunner module", "showrunner doctor"]) {
    expect(inSentence(text, flags)).toBe(text);
  }
  expect(nextLines("showrunner resume r   (see: showrunner approve r)", { launcher: "npx showrunner", flags })).toEqual(
    [
      "npx showrunner resume r --journal 'my runs/j.db' --local",
      "(see: npx showrunner approve --journal 'my runs/j.db' r)",
    ],
  );
});

test.each([
  ["showrunner resume r", "--cap 50/day --cap 'customer=*:0.50/day' --cap-time-zone Europe/Berlin --wallet-floor 3"],
  ["showrunner resume r --cap customer=acme:0.62/day", "--cap 50/day --cap-time-zone Europe/Berlin --wallet-floor 3"],
  [
    "showrunner resume r --cap customer=acme:200",
    "--cap 50/day --cap 'customer=*:0.50/day' --cap-time-zone Europe/Berlin --wallet-floor 3",
  ],
  [
    "showrunner resume r --cap 'customer=Acme & Co:0.62/day'",
    "--cap 50/day --cap-time-zone Europe/Berlin --wallet-floor 3",
  ],
  ["showrunner resume r --cap 60/day --wallet-floor 2", "--cap 'customer=*:0.50/day' --cap-time-zone Europe/Berlin"],
  [
    "showrunner approve r s --resume --cap 60/day --wallet-floor 2",
    "--cap 'customer=*:0.50/day' --cap-time-zone Europe/Berlin",
  ],
  ["showrunner dashboard --cap 60/day --wallet-floor 2", "--cap 'customer=*:0.50/day' --cap-time-zone Europe/Berlin"],
  ["showrunner show r", null],
])(
  "a suggested command that may spend keeps the limits of this one, but for those that it sets: %s",
  (command, kept) => {
    const cap = ["50/day", "customer=*:0.50/day"];
    const flags = serviceFlags({ cap, capTimeZone: "Europe/Berlin", walletFloor: "3" });
    expect(nextLines(command, { launcher: "showrunner", flags })).toEqual([
      kept === null ? command : `${command} ${kept}`,
    ]);
  },
);

describe("tables", () => {
  const rows = [
    { name: "speech", cost: "$0.02" },
    { name: "a-very-long-step-name", cost: "$10.00" },
  ];
  const columns = [
    { title: "step", value: (row: (typeof rows)[0]) => row.name, flexible: true },
    { title: "cost", value: (row: (typeof rows)[0]) => row.cost, align: "right" as const },
  ];

  test("columns are as wide as their longest cell", () => {
    expect(table(rows, columns)).toBe(
      ["step                     cost", "speech                  $0.02", "a-very-long-step-name  $10.00"].join("\n"),
    );
  });

  test("amounts stand with their points below each other", () => {
    const costs = ["$0.02", "$10.00", "$0.0015", "free"].map((cost) => ({ cost }));
    const column = { title: "cost", value: (row: { cost: string }) => row.cost, align: "money" as const };
    expect(table(costs, [column]).split("\n")).toEqual(["    cost", " $0.02", "$10.00", " $0.0015", "  free"]);
  });

  test("where the terminal is narrow, columns that can be missed are left out, the last ones first, and ids stay whole", () => {
    const text = (title: string, more = {}) => ({ title, value: () => title.repeat(5), ...more });
    const all = [text("run-id"), text("title", { flexible: true, optional: true }), text("last", { optional: true })];
    const titles = (width: number) => table([{}], all, width).split("\n")[0]!.trim().split(/ +/);
    expect(titles(80)).toEqual(["run-id", "title", "last"]);
    expect(titles(50)).toEqual(["run-id", "title"]);
    expect(titles(40)).toEqual(["run-id"]);
    expect(table([{}], all, 20)).toContain("run-id".repeat(5));
  });

  test("a narrow terminal shortens flexible columns only", () => {
    const lines = table(rows, columns, 18).split("\n");
    expect(lines.every((line) => line.length <= 18)).toBe(true);
    expect(lines[2]).toBe("a-very-lo…  $10.00");
  });
});

test("advice names the commands that there are", () => {
  const { io } = fakeIo();
  const program = createProgram({ io, output: createOutput(io), args: [] }, () => {});
  expect([...COMMANDS].toSorted()).toEqual([...program.commands.map((one) => one.name()), "help"].toSorted());
});
