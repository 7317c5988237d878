import { type Perform, some, textFlag } from "./call.ts";
import { readCallInput } from "./call-input.ts";

const modalities = ["image", "video", "audio"] as const;

export const listModels: Perform = async ({ client, flags }) => {
  const modality = modalities.find((one) => one === textFlag(flags, "modality"));
  return {
    type: "list",
    items: await some(client.models({ modality }), flags.limit ?? "1000"),
    fields: ["id", "modality", "name", "price_description"],
  };
};

export const showModel: Perform = async ({ client, args: [id = ""] }) => ({
  type: "one",
  value: await client.model(id),
});

export const listVoices: Perform = async ({ client, args: [id = ""], flags }) => ({
  type: "list",
  items: await some(client.voices(id), flags.limit ?? "1000"),
  fields: ["id", "name", "labels"],
});

export const estimate: Perform = async ({ client, args: [model = ""], flags, context }) => ({
  type: "one",
  value: await client.estimate({ model, input: await readCallInput(flags, context) }),
});
