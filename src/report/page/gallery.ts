import { formatBytes } from "../../byte-size.ts";
import { formatDuration } from "../../index.ts";
import type { FinalFile, ReportFacts } from "../facts.ts";
import { count } from "./format.ts";
import { type Html, html } from "./html.ts";

/** Intermediate results that are small enough to be part of the page. */
export function intermediateOutputs(facts: ReportFacts, locations: MediaLocations): Html | null {
  const shown = facts.intermediateOutputs.flatMap((created) => {
    const location = locations.get(`sha256:${created.sha256}`);
    return location?.type === "inline" ? [{ output: created, url: location.url }] : [];
  });
  if (shown.length === 0) return null;
  return html`<h3>Intermediate outputs</h3><div class="strip scroll" role="region" aria-label="Intermediate outputs" tabindex="0">${shown.map(
    ({ output: { step, index, contentType }, url }) => {
      const name = index === 0 ? step : `${step}, output ${index}`;
      return html`<figure>${thumbnail(contentType, url, name)}<figcaption>${name}</figcaption></figure>`;
    },
  )}</div>`;
}

function thumbnail(contentType: string, url: string, name: string): Html {
  if (contentType.startsWith("image/")) return html`<img src="${url}" alt="${name}">`;
  const tag = contentType.startsWith("video/") ? "video" : "audio";
  return tag === "video"
    ? html`<video src="${url}#t=0.001" controls preload="metadata" playsinline aria-label="${name}"></video>`
    : html`<audio src="${url}" controls preload="metadata" aria-label="${name}"></audio>`;
}

/** Where a page finds the bytes of a file. `missing`: there is no copy of ours any more; the path is where the run put it. */
export type MediaLocation =
  | { readonly type: "inline" | "beside"; readonly url: string }
  | { readonly type: "missing"; readonly path: string };

/** Places by file name, as in {@link FinalFile.file}. */
export type MediaLocations = ReadonlyMap<string, MediaLocation>;

/** What the run returned, to be seen and heard. */
export function gallery({ files, fileCount, report }: ReportFacts, locations: MediaLocations): Html {
  if (files.length === 0) {
    const why = report.status === "succeeded" ? "The run returned no files." : "No returned file is finished yet.";
    return html`<p class="empty">${why}</p>`;
  }
  const figures = [...files.entries()]
    .sort(([, a], [, b]) => rank(a) - rank(b))
    .map(([at, file]) => {
      const location = locations.get(file.file) ?? { type: "missing", path: file.file };
      return html`<figure class="${shapeOf(file)}">${player(file, location)}
<figcaption><strong>${file.name}</strong>
<span class="facts">${describe(file)}</span>
<a href="#origin-${at}">how it was produced</a></figcaption></figure>`;
    });
  const more = fileCount - files.length;
  return html`<div class="gallery">${figures}</div>${more > 0 ? html`<p class="hint">… and ${count(more, "more file")} in ${report.out_dir}.</p>` : null}`;
}

export function describe(file: FinalFile): string {
  const parts = [
    file.width !== null && file.height !== null ? `${file.width} × ${file.height}` : null,
    file.durationMs === null ? null : formatDuration(file.durationMs),
    file.contentType,
    file.sizeBytes === null ? null : formatBytes(file.sizeBytes),
  ];
  return parts.filter((part) => part !== null).join(" · ");
}

/** Films first, then pictures, then sound. */
function rank({ contentType }: FinalFile): number {
  const at = ["video", "image", "audio"].indexOf(contentType.split("/")[0] ?? "");
  return at < 0 ? 3 : at;
}

function shapeOf({ width, height, contentType }: FinalFile): string {
  if (contentType.startsWith("audio/")) return "sound";
  if (!/^(image|video)\//.test(contentType)) return "plain";
  return width !== null && height !== null && height > width ? "upright" : "wide";
}

function player(file: FinalFile, location: MediaLocation): Html {
  if (location.type === "missing")
    return html`<div class="gone">No copy left; it was stored at <span class="breakable">${location.path}</span></div>`;
  const { url } = location;
  if (file.contentType.startsWith("image/")) return html`<img src="${url}" alt="${file.name}, by step ${file.step}">`;
  if (file.contentType.startsWith("video/")) {
    return html`<video src="${url}#t=0.001" controls preload="metadata" playsinline aria-label="${file.name}"></video>`;
  }
  if (file.contentType.startsWith("audio/")) {
    return html`<audio src="${url}" controls preload="metadata" aria-label="${file.name}"></audio>`;
  }
  return html`<div class="gone">${location.type === "beside" ? html`<a href="${url}" download>save ${file.file}</a>` : file.file}</div>`;
}
