import { serve } from "@hono/node-server";
import { z } from "zod";
import { models } from "../../../../recipes/models.ts";
import { createClient, createMemoryJournal, file, openShowrunner, pipeline } from "../../../../src/index.ts";
import { startLocalService } from "../../../../src/local-service/index.ts";
import { createHandler } from "../../../../src/studio/handler/index.ts";
import { fastFolder } from "../../../../src/testing/surroundings.ts";
import { reportHealth } from "../../../support/report-health.ts";
import { byHeader } from "./served.ts";

/** A pipeline that makes a picture from an uploaded picture. */
const sent = pipeline("sent", {
  input: z.object({ photo: file("image") }),
  build: ({ upload, job, input }) => {
    upload("photo", input.photo);
    return { still: job("still", models.image, { prompt: "grey" }) };
  },
});

const folder = await fastFolder("forms-");
const service = await startLocalService({ renderer: "stub", dataDir: `${folder}/service` });
const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
const show = await openShowrunner({ client, journal: createMemoryJournal(), mediaDir: `${folder}/media` });
const defects: string[] = [];
const onDefect = (error: unknown) => void defects.push(String(error));
const api = createHandler(show, { pipelines: { sent }, authorize: byHeader(), filesDir: `${folder}/sent`, onDefect });
serve({ fetch: api, port: 0 }, ({ port }) => reportHealth({ port: String(port), folder }, () => defects));
