/** Generates a picture with a client that swagger-typescript-api generated. */
import { Api, type Image1Input } from "./generated/swagger-typescript-api/api.js";
import { FINISHED, type Made, type Setting } from "./scenario.js";

export async function run({ baseUrl, apiKey }: Setting): Promise<Made> {
  const { models, jobs } = new Api({
    baseUrl,
    securityWorker: () => ({ headers: { Authorization: `Bearer ${apiKey}` } }),
  });
  const input: Image1Input = { prompt: "a lighthouse" };
  const { data: ack } = await models.submitImage1({ input });
  let { data: job } = await jobs.getJob(ack.job_id);
  while (!FINISHED.includes(job.status)) ({ data: job } = await jobs.getJob(ack.job_id));
  // @ts-expect-error no output has this field
  job.outputs.map(({ link }) => link);
  const refused = await models
    // @ts-expect-error a quality that the model has not
    .submitImage1({ input: { prompt: "x", quality: "best" } })
    .catch((response: { readonly error: { readonly error: { readonly param?: string | null } } }) => response);
  const { data: voices } = await models.searchModelVoices("speech-1", { q: "sally" });
  return {
    status: job.status,
    contentTypes: job.outputs.map(({ content_type }) => content_type),
    refused: "error" in refused ? refused.error.error.param : null,
    voices: voices.data.map(({ name }) => name),
  };
}
