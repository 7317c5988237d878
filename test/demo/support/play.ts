import { join } from "node:path";
import type { Browser, Page } from "playwright-core";

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly colours: number;
}

export interface Sound {
  readonly durationMs: number;
  /** Root mean square of the decoded samples; 0 for silence. */
  readonly loudness: number;
}

export interface Played extends Sound {
  readonly width: number;
  readonly height: number;
  /** True if the picture in the middle differs from the first picture. */
  readonly moves: boolean;
}

/** A browser page that decodes pictures, sound and film; it fails if the browser cannot decode a file. */
export interface Player {
  lookAt(url: string): Promise<Picture>;
  listenTo(url: string): Promise<Sound>;
  play(url: string): Promise<Played>;
}

export async function openPlayer(browser: Browser, origin: string): Promise<Player> {
  const page: Page = await browser.newPage();
  await page.goto(origin);
  await page.addScriptTag({ path: join(import.meta.dirname, "in-page.js") });
  return {
    lookAt: (url) => page.evaluate(`lookAt(${JSON.stringify(url)})`),
    listenTo: (url) => page.evaluate(`listenTo(${JSON.stringify(url)})`),
    play: (url) => page.evaluate(`play(${JSON.stringify(url)})`),
  };
}
