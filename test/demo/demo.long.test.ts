import { spawn } from "node:child_process";
import { globSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type MediaServer, serveMedia, startBrowser } from "./support/browser.ts";
import { openPlayer, type Player } from "./support/play.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "showrunner-demo-"));
const demoTimeoutMs = 180_000;

let output = "";
let exitCode: number | null = null;
let files: string[] = [];
let browser: Browser;
let media: MediaServer;
let player: Player;

beforeAll(async () => {
  exitCode = await new Promise((done) => {
    const child = spawn(process.execPath, [join(root, "scripts/demo.ts"), "--dir", folder], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.on("close", done);
  });
  files = globSync(["image-to-video/**/*.*", "talking-avatar/**/*.*"], { cwd: folder }).map((file) =>
    join(folder, file),
  );
  media = await serveMedia(files);
  browser = await startBrowser();
  player = await openPlayer(browser, media.origin);
}, demoTimeoutMs);

afterAll(async () => {
  await browser?.close();
  await media?.[Symbol.asyncDispose]();
});

/** Address of the one file that matches. */
function urlOf(pattern: RegExp): string {
  const found = files.findIndex((file) => pattern.test(file));
  expect(found, `${pattern} among ${files.map((file) => basename(file)).join(", ")}`).toBeGreaterThanOrEqual(0);
  return `${media.origin}/${found}`;
}

describe("the demo", () => {
  test("ends with exit 0 and every check passed", () => {
    expect(exitCode, output).toBe(0);
    expect(output).not.toContain("FAIL");
    expect(output).toMatch(/ {6}\d+ requests while 6 jobs ran: \d+\.\d per job/);
  });

  test("shows plans with prices and a table of step, job, cost, time and file", () => {
    expect(output).toContain("Total $");
    expect(output).toMatch(/step +job +cost +time +file/);
    expect(output).toMatch(/talking-avatar\/video +job_\S+ +\$\d+\.\d+ +\S+ s +\S+\.mp4/);
  });
});

describe("the outputs of the demo, in a browser", () => {
  test("the picture is a picture", async () => {
    const { width, height, colours } = await player.lookAt(urlOf(/image-to-video.*\.png$/));
    expect(width).toBeGreaterThan(height);
    expect(colours).toBeGreaterThan(50);
  });

  test("the speech is audible", async () => {
    const { durationMs, loudness } = await player.listenTo(urlOf(/\.(wav|mp3)$/));
    expect(durationMs).toBeGreaterThan(1000);
    expect(loudness).toBeGreaterThan(0.005);
  });

  test.each([
    ["the animated picture", /image-to-video.*\.mp4$/, "wide"],
    ["the avatar", /talking-avatar.*\.mp4$/, "tall"],
  ])("%s plays, moves and has sound", async (_name, pattern, shape) => {
    const played = await player.play(urlOf(pattern));
    expect(played.width > played.height).toBe(shape === "wide");
    expect(played.durationMs).toBeGreaterThan(1000);
    expect(played.moves).toBe(true);
    expect(played.loudness).toBeGreaterThan(0.001);
  });

  test("the avatar's video lasts as long as what it says", async () => {
    const speech = await player.listenTo(urlOf(/\.(wav|mp3)$/));
    const video = await player.play(urlOf(/talking-avatar.*\.mp4$/));
    expect(Math.abs(video.durationMs - speech.durationMs)).toBeLessThan(250);
  });
});
