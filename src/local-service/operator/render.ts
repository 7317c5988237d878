import { randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { parseBody } from "../http/body.ts";
import { type Answer, type Call, ok } from "../http/call.ts";
import { invalid, problem } from "../http/refusal.ts";
import { RenderError } from "../render/contract.ts";
import { renderBody } from "../request-bodies.ts";
import type { ServiceContext } from "../service-context.ts";

/**
 * `POST /_local/render`: draws, films or speaks without any job, model or charge, for whoever rehearses requests to others.
 * The input is as the renderer takes it.
 */
export function renderEndpoint({ renderer, dataDir }: Pick<ServiceContext, "renderer" | "dataDir">) {
  return async (call: Call): Promise<Answer> => {
    const request = parseBody(renderBody, await call.json());
    const outPath = dataDir.incoming(`render-${randomUUID()}`);
    try {
      const { contentType } = await renderer.render({ ...request, media: {}, voice: null, outPath });
      const data = (await readFile(outPath)).toString("base64");
      return ok({ content_type: contentType, data });
    } catch (error) {
      if (error instanceof RenderError && error.code === "RENDER_INPUT") {
        throw invalid([problem("input", error.message, "invalid")]);
      }
      throw error;
    } finally {
      await rm(outPath, { force: true });
    }
  };
}
