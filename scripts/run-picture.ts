/**
 * Draws docs/pictures/run.svg: an animation of a real run in a terminal, with the picture that the run generated. Runs the
 * command on the local service in a tmux terminal, and records the lines on the screen with their times. Needs tmux.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createCanvas, loadImage } from "@napi-rs/canvas";
import { LOCAL_STARTER, starterSource } from "../src/cli/project/choose-models.ts";
import { startLocalService } from "../src/local-service/index.ts";
import { root } from "./published.ts";

const columns = 78;
const rows = 24;
const cell = { width: 8.4, height: 19 };
const text = { left: 18, top: 52 };
const picture = { width: 320, height: 180 };
const size = {
  width: text.left * 3 + columns * cell.width + picture.width,
  height: text.top + rows * cell.height + 10,
};
/** How long the last frame is shown before the animation restarts, in seconds. */
const restSeconds = 5;
/** Maximum duration of the animation up to the last frame, in seconds. */
const longestSeconds = 12;
/** Maximum time for which nothing changes, in seconds. */
const longestStillSeconds = 0.5;

/** Matches the escape codes for color and weight. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the terminal's own
const STYLE = /(\u001b\[[\d;]*m)/g;

/** A line on a row of the screen, and the times in seconds at which it appears and disappears. */
interface Span {
  readonly row: number;
  readonly line: string;
  readonly from: number;
  to: number;
}

const folder = mkdtempSync(join(tmpdir(), "run-picture-"));
const socket = join(folder, "tmux");
const tmux = (...words: string[]) =>
  execFileSync("tmux", ["-f", "/dev/null", "-S", socket, ...words], { encoding: "utf8" });
const service = await startLocalService({ dataDir: join(folder, "service"), balance: 25 });
try {
  writeFileSync(join(folder, "film.ts"), starterSource(LOCAL_STARTER));
  const program = `${process.execPath} ${join(root, "src/cli/main.ts")}`;
  const settings = `SHOWRUNNER_BASE_URL=${service.baseUrl} SHOWRUNNER_API_KEY=${service.apiKey} CI= TERM=tmux-256color npm_command=exec`;
  const command = "run film.ts --id boat --budget 1";
  tmux(
    ...["new-session", "-d", "-x", String(columns), "-y", String(rows), "-c", folder],
    `printf '\\033[32m$\\033[0m npx showrunner ${command}\\n'; env ${settings} ${program} ${command}; echo EOF; exec sleep 1000`,
  );
  const spans = await recorded();
  const made = readFileSync(join(folder, "out/boat/picture.png"));
  writeFileSync(join(root, "docs/pictures/run.svg"), svg(spans, await small(made)));
} finally {
  tmux("kill-server");
  await service.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Records the rows of the screen over time, until the command ends. */
async function recorded(): Promise<readonly Span[]> {
  const spans: Span[] = [];
  const shown: (Span | null)[] = Array.from({ length: rows }, () => null);
  let at = 0;
  let last = { text: "", at: performance.now(), stillSeconds: 0 };
  for (;;) {
    const text = tmux("capture-pane", "-p", "-e");
    const now = performance.now();
    const passed = (now - last.at) / 1000;
    // Shortens still periods, because the command starts slowly on a busy machine.
    const stillSeconds = text === last.text ? last.stillSeconds + passed : 0;
    if (stillSeconds < longestStillSeconds) at += Math.min(passed, longestStillSeconds);
    last = { text, at: now, stillSeconds };
    const lines = text.split("\n");
    const isOver = lines.some((line) => line === "EOF");
    for (let row = 0; row < rows; row += 1) {
      const line = lines[row] === "EOF" ? "" : (lines[row] ?? "").trimEnd().replace(folder, "/home/you");
      if (shown[row]?.line === line) continue;
      if (shown[row] !== null) shown[row]!.to = at;
      shown[row] = line === "" ? null : { row, line, from: at, to: Number.POSITIVE_INFINITY };
      if (shown[row] !== null) spans.push(shown[row]!);
    }
    if (isOver) break;
    await delay(120);
  }
  // Speeds up a recording that is too long.
  const factor = Math.min(1, longestSeconds / at);
  const end = at * factor + restSeconds;
  return spans.map((span) => ({ ...span, from: span.from * factor, to: Math.min(span.to * factor, end) }));
}

function svg(spans: readonly Span[], image: string): string {
  const end = Math.max(...spans.map(({ to }) => to));
  const done = spans.find(({ line }) => /picture +.*done/.test(plain(line)))?.from ?? end / 2;
  const shows = (from: number, to: number) => {
    const percent = (seconds: number) => `${Math.round((seconds / end) * 10_000) / 100}%`;
    return `0%{opacity:${from === 0 ? 1 : 0}}${percent(from)}{opacity:1}${to >= end ? "" : `${percent(to)}{opacity:0}`}`;
  };
  const frames = spans.map(
    ({ from, to }, index) => `@keyframes k${index}{${shows(from, to)}}#l${index}{animation-name:k${index}}`,
  );
  const lines = spans.map(({ row, line, to }, index) => {
    const y = text.top + row * cell.height;
    return `<text id="l${index}" x="${text.left}" y="${y}"${to >= end ? ' class="end"' : ""}>${markup(line)}</text>`;
  });
  const corner = { x: size.width - picture.width - text.left, y: text.top + 6 * cell.height };
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}" role="img" aria-labelledby="t">
<title id="t">A run in a terminal: two steps, their progress and cost, and the picture that the first one made</title>
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6e6e6;white-space:pre}
text,#p{opacity:0;animation:${end.toFixed(2)}s step-end infinite}
.g{fill:#8ad18a}.r{fill:#f08080}.y{fill:#e5c07b}.b{fill:#7fb4ff}.m{fill:#d79be8}.c{fill:#7fd6d6}.d{fill:#9a9aa5}.o{font-weight:700}
${frames.join("\n")}
@keyframes p{${shows(done, end)}}#p{animation-name:p}
@media (prefers-reduced-motion:reduce){text,#p{animation:none}.end,#p{opacity:1}}
</style>
<rect width="100%" height="100%" rx="10" fill="#1b1b22"/>
<circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/><circle cx="62" cy="20" r="6" fill="#28c840"/>
${lines.join("\n")}
<image id="p" href="data:image/webp;base64,${image}" x="${corner.x}" y="${corner.y}" width="${picture.width}" height="${picture.height}"/>
</svg>
`;
}

function plain(line: string): string {
  return line.replaceAll(STYLE, "");
}

/** Turns a line with escape codes into SVG spans with color classes. */
function markup(line: string): string {
  const colours: Readonly<Record<string, string>> = {
    "1": "o",
    "2": "d",
    "31": "r",
    "32": "g",
    "33": "y",
    "34": "b",
    "35": "m",
    "36": "c",
    "90": "d",
  };
  let classes: string[] = [];
  return line
    .split(STYLE)
    .map((part) => {
      if (!part.startsWith("\u001b")) {
        const escaped = part.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
        return part === "" || classes.length === 0 ? escaped : `<tspan class="${classes.join(" ")}">${escaped}</tspan>`;
      }
      for (const code of part.slice(2, -1).split(";")) {
        if (code === "" || code === "0" || code === "39" || code === "22") classes = [];
        else if (colours[code] !== undefined) classes = [...classes, colours[code]];
      }
      return "";
    })
    .join("");
}

async function small(png: Buffer): Promise<string> {
  const canvas = createCanvas(picture.width * 1.5, picture.height * 1.5);
  canvas.getContext("2d").drawImage(await loadImage(png), 0, 0, canvas.width, canvas.height);
  return (await canvas.encode("webp", 80)).toString("base64");
}
