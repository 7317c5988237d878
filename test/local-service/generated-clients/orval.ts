/** Generates a picture with a client that orval generated. */
import { AxiosError } from "axios";
import { getJob, type Image1Input, searchModelVoices, submitImage1 } from "./generated/orval/api.js";
import { FINISHED, type Made, type Setting } from "./scenario.js";

export async function run({ baseUrl, apiKey }: Setting): Promise<Made> {
  const options = { baseURL: baseUrl, headers: { Authorization: `Bearer ${apiKey}` } };
  const input: Image1Input = { prompt: "a lighthouse" };
  const { data: ack } = await submitImage1({ input }, options);
  let { data: job } = await getJob(ack.job_id, options);
  while (!FINISHED.includes(job.status)) ({ data: job } = await getJob(ack.job_id, options));
  // @ts-expect-error no output has this field
  job.outputs.map(({ link }) => link);
  // @ts-expect-error a quality that the model has not
  const refused = await submitImage1({ input: { prompt: "x", quality: "best" } }, options).catch((error) => error);
  const { data: voices } = await searchModelVoices("speech-1", { q: "sally" }, options);
  return {
    status: job.status,
    contentTypes: job.outputs.map(({ content_type }) => content_type),
    refused: refused instanceof AxiosError ? refused.response?.data.error.param : null,
    voices: voices.data.map(({ name }) => name),
  };
}
