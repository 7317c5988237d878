import type { Page } from "playwright-core";

/** How a player on a page showed a film. */
export interface Watched {
  readonly seconds: number;
  readonly width: number;
  readonly height: number;
  /** Second that the player had reached when it was stopped. */
  readonly reached: number;
  /** Mean red, green and blue of the drawn picture in the middle of the film. */
  readonly middle: readonly [number, number, number];
  /** Number of decoded bytes of sound. */
  readonly soundBytes: number;
}

/** Plays the returned films on a run's page, each in its own player. Returns the results by name. */
export async function watchReturned(page: Page): Promise<Readonly<Record<string, Watched>>> {
  await page.getByRole("tab", { name: "Results" }).click();
  await page.locator(`section[aria-label="Returned"] video`).first().waitFor();
  return page.evaluate(`(${watchAll})()`);
}

/** Runs inside the browser. */
const watchAll = `async () => {
  const watch = async (video) => {
    const until = async (what, isSo) => {
      for (const began = performance.now(); !isSo(); await new Promise(requestAnimationFrame)) {
        if (video.error !== null) throw new Error(video.ariaLabel + ": " + video.error.message);
        if (performance.now() - began > 30_000) throw new Error(video.ariaLabel + " was not " + what);
      }
    };
    await video.play();
    await until("playing", () => video.currentTime > 0.25);
    video.pause();
    const reached = video.currentTime;
    const middle = video.duration / 2;
    let shown = Number.NaN;
    const onFrame = (_now, { mediaTime }) => {
      shown = mediaTime;
      video.requestVideoFrameCallback(onFrame);
    };
    video.requestVideoFrameCallback(onFrame);
    video.currentTime = middle;
    await until("in its middle", () => !video.seeking && Math.abs(shown - middle) < 0.1);
    const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 64 });
    const context = canvas.getContext("2d");
    context.drawImage(video, 0, 0, 64, 64);
    const pixels = context.getImageData(0, 0, 64, 64).data;
    const mean = (channel) => pixels.reduce((sum, one, at) => sum + (at % 4 === channel ? one : 0), 0) / 4096;
    return {
      seconds: video.duration,
      width: video.videoWidth,
      height: video.videoHeight,
      reached,
      middle: [mean(0), mean(1), mean(2)],
      soundBytes: video.webkitAudioDecodedByteCount,
    };
  };
  const seen = {};
  for (const video of document.querySelectorAll('section[aria-label="Returned"] video'))
    seen[video.ariaLabel] = await watch(video);
  return seen;
}`;
