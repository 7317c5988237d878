import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type WriteReportOptions, writeReport } from "../../../../src/studio/dashboard/index.ts";
import type { InlinedRun } from "../../../../src/studio/dashboard/views/document.ts";
import { newFolder } from "../../../support/temporary-folder.ts";
import type { SampleRun } from "./sample-run.ts";

export interface ReadReport {
  readonly document: string;
  readonly run: InlinedRun;
  /** Data of media in the page, by the names that replace them. */
  readonly media: Readonly<Record<string, string>>;
}

/** Creates a report of a run and reads it like a browser. */
export async function reportOf(run: SampleRun): Promise<ReadReport> {
  return readReport(await reportFile(run));
}

export async function reportFile(run: SampleRun, more: Partial<WriteReportOptions> = {}): Promise<string> {
  const folder = newFolder();
  const options = { file: join(folder, "report.html"), mediaDir: join(folder, "media"), version: "1.2.3" };
  const { file } = await writeReport(run.show(), run.id, { ...options, writtenAt: run.now, ...more });
  return file;
}

export function readReport(file: string): ReadReport {
  const document = readFileSync(file, "utf8");
  const data = (id: string) =>
    new RegExp(`<script type="application/json" id="${id}">([^<]*)</script>`).exec(document)![1]!;
  return { document, run: JSON.parse(data("inlined-run")), media: JSON.parse(data("inlined-media")) };
}
