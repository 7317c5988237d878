import OpenAI from "openai";
import type { LocalService } from "../../../src/local-service/index.ts";

/** The client from npm as it is, given a base URL and a key. */
export const openAi = (service: LocalService, apiKey = service.apiKey) =>
  new OpenAI({ baseURL: service.baseUrl, apiKey, maxRetries: 0 });
