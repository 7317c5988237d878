import type { ReadResourceResult, Resource } from "@modelcontextprotocol/sdk/types.js";
import type { AgentSession } from "./session.ts";
import { ToolError } from "./tool-error.ts";
import { mediaBytes, storedMedia } from "./tools/media.ts";
import { summary } from "./tools/runs.ts";
import { json } from "./tools/tool.ts";

/** Largest output that is read as a resource. */
export const MOST_RESOURCE_BYTES = 16 * 1024 * 1024;

export const resourceTemplates = [
  {
    uriTemplate: "showrunner://runs/{run}",
    name: "run",
    title: "A run",
    description: "Status, cost, steps and outputs of a run that an agent started.",
    mimeType: "application/json",
  },
  {
    uriTemplate: "showrunner://runs/{run}/media/{step}/{index}",
    name: "media",
    title: "An output of a run",
    description: "Its bytes, up to 16 MiB.",
  },
];

export async function listResources(session: AgentSession): Promise<Resource[]> {
  const runs = await session.runs();
  return runs.map(({ runId, pipeline, status }) => ({
    uri: `showrunner://runs/${encodeURIComponent(runId)}`,
    name: runId,
    description: `${pipeline}, ${status}`,
    mimeType: "application/json",
  }));
}

/** @throws ToolError for what is no resource, or too large */
export async function readResource(session: AgentSession, uri: string): Promise<ReadResourceResult> {
  const { run, step, index } = partsOf(uri);
  if (step === null) {
    const [{ text }] = json(await summary(session, await session.report(run))).content;
    return { contents: [{ uri, mimeType: "application/json", text }] };
  }
  const all = await storedMedia(session, await session.state(run));
  const found = all.find((one) => one.step === step && one.index === index);
  if (found === undefined) throw new ToolError(`${uri} does not exist`, "`show_media` names what there is");
  if (found.sizeBytes > MOST_RESOURCE_BYTES) {
    throw new ToolError(
      `${uri} has ${found.sizeBytes} bytes; at most ${MOST_RESOURCE_BYTES} are sent`,
      "`run_status` names its file in out_dir, for programs on this machine",
    );
  }
  const blob = (await mediaBytes(session, found)).toString("base64");
  return { contents: [{ uri, mimeType: found.contentType, blob }] };
}

function partsOf(uri: string): { readonly run: string; readonly step: string | null; readonly index: number } {
  const [, run, step, index] = /^showrunner:\/\/runs\/([^/?#]+)(?:\/media\/([^/?#]+)\/(\d{1,4}))?$/.exec(uri) ?? [];
  const decoded = [run, step].map((part) => (part === undefined ? null : decode(part)));
  if (decoded[0] == null || (step !== undefined && decoded[1] == null)) {
    throw new ToolError(
      `${JSON.stringify(uri)} is no resource of this server`,
      "use an address that `show_media` or the list of resources gave",
    );
  }
  return { run: decoded[0], step: decoded[1] ?? null, index: Number(index ?? 0) };
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
