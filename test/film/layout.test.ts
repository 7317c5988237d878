/** Captions, lower third and logo are drawn by steps that do not know each other: their places do. */
import { expect, test } from "vitest";
import { placeLowerThird } from "../../src/film/captions/lower-third.ts";
import { type Format, type Pixels, pixelsOf, type Size } from "../../src/film/graph/frame.ts";
import { type Box, type Corner, captionBox, logoBox, type Position, safeArea } from "../../src/film/graph/layout.ts";

const formats: readonly Format[] = ["16:9", "9:16", "1:1", "4:5"];
const sizes: readonly Size[] = ["480p", "720p", "1080p", "2160p"];
const corners: readonly Corner[] = ["top-left", "top-right", "bottom-left", "bottom-right"];
const positions: readonly Position[] = ["top", "middle", "bottom"];
const logos = [
  { width: 400, height: 100 },
  { width: 300, height: 300 },
  { width: 90, height: 300 },
];
const lowers = [
  undefined,
  { title: "Ada" },
  { title: "Dr. Wilhelmina Fotheringham-Smythe", subtitle: "Head of Something Rather Long to Say" },
  { title: "Ada Lovelace", subtitle: "Mathematician" },
];

function isInside(box: Box, area: Box): boolean {
  return (
    box.x >= area.x &&
    box.y >= area.y &&
    box.x + box.width <= area.x + area.width &&
    box.y + box.height <= area.y + area.height
  );
}

test("nothing overlaps and nothing leaves the safe area, in any format, with any combination", () => {
  const wrong: string[] = [];
  let count = 0;
  for (const format of formats)
    for (const size of sizes)
      for (const position of positions)
        for (const captionSize of [0.03, 0.05, 0.07])
          for (const corner of corners)
            for (const picture of logos)
              for (const lower of lowers) {
                const pixels = pixelsOf({ width: 16, height: 9 }, size, format);
                const text = lower && { ...lower, at: 0, seconds: 1, style: {}, captionSize };
                const lowerThird = text && placeLowerThird(pixels, text).box;
                // Nothing says to a lower corner which captions are below it.
                if (lowerThird === undefined && captionSize > 0.05 && corner.startsWith("bottom")) continue;
                const parts = {
                  caption: captionBox(pixels, { size: captionSize, position }),
                  lowerThird,
                  logo: logoBox(pixels, { corner, picture, lowerThird }),
                };
                // The one combination that is not kept apart, as the page says.
                if (corner.startsWith("bottom") && position !== "bottom") continue;
                const flaws = overlapsIn(pixels, parts);
                const out = Object.entries(parts).filter(([, box]) => box && !isInside(box, safeArea(pixels)));
                count += 1;
                const name = JSON.stringify({ format, size, position, captionSize, corner, picture, lower });
                if (flaws.length > 0 || out.length > 0) wrong.push(`${name}: ${flaws} ${out.map(([part]) => part)}`);
              }
  expect(wrong.slice(0, 5)).toEqual([]);
  expect(count).toBeGreaterThan(3_000);
});

test("the check finds what lies over another part, and what leaves the picture", () => {
  const pixels = { width: 100, height: 100 };
  const box = { x: 10, y: 10, width: 20, height: 20 };
  expect(overlapsIn(pixels, { a: box, b: { ...box, x: 25 }, c: { ...box, y: 90 } })).toEqual([
    "c is partly outside the picture",
    "a and b overlap",
  ]);
  expect(overlapsIn(pixels, { a: box, b: { ...box, x: 30 } })).toEqual([]);
});

test("a logo is a quarter of the shorter side wide in every format", () => {
  for (const format of formats) {
    const pixels = pixelsOf({ width: 16, height: 9 }, "1080p", format);
    expect(logoBox(pixels, { picture: { width: 400, height: 100 } }).width).toBe(270);
  }
});

test("a title that is long gets smaller, on two lines; one that nobody could read is refused", () => {
  const pixels = { width: 1080, height: 1920 };
  const placed = (title: string) => placeLowerThird(pixels, { title, at: 0, seconds: 1, style: {} });
  expect(placed("Ada Lovelace").lines).toEqual(["Ada Lovelace"]);
  const long = placed("Professor Augusta Ada King, Countess of Lovelace");
  expect(long.lines).toHaveLength(2);
  expect(() => placed("x".repeat(80))).toThrow(/title \(80 characters\).*shorten them/);
});

function overlapsIn(pixels: Pixels, parts: { readonly [name: string]: Box | undefined }): readonly string[] {
  const boxes = Object.entries(parts).flatMap(([name, box]) => (box === undefined ? [] : [{ name, ...box }]));
  const outside = boxes.filter(
    ({ x, y, width, height }) => x < 0 || y < 0 || x + width > pixels.width || y + height > pixels.height,
  );
  const pairs = boxes.flatMap((one, index) =>
    boxes
      .slice(index + 1)
      .filter(
        (other) =>
          one.x < other.x + other.width &&
          other.x < one.x + one.width &&
          one.y < other.y + other.height &&
          other.y < one.y + one.height,
      )
      .map((other) => `${one.name} and ${other.name} overlap`),
  );
  return [...outside.map(({ name }) => `${name} is partly outside the picture`), ...pairs];
}
