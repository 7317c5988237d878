/** The local service alone: what it renders, takes and answers, each from a process that has done nothing else. */

import type { Report } from "./harness.ts";
import { measure as growth } from "./local-service-growth.ts";
import { measure as list } from "./local-service-list.ts";
import { measure as render } from "./local-service-render.ts";
import { measure as streams } from "./local-service-streams.ts";
import { measure as submit } from "./local-service-submit.ts";
import { measure as upload } from "./local-service-upload.ts";

export async function measure(report: Report, options: { readonly quick?: boolean } = {}): Promise<void> {
  for (const part of [render, submit, list, streams, upload, growth]) await part(report, options);
}
