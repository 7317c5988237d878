import { placeholderMedium } from "../../core/kit/placeholder-media.ts";
import type { Catalog, Client, Json } from "../../index.ts";

/** Placeholders for checking inputs against schemas, but not for price estimates. */
export const STANDING_IN = {
  image: { source: "url", url: "https://example.com/picture.png" },
  audio: { source: "url", url: "https://example.com/speech.wav" },
} as const;
export const ANY_VOICE = "a voice";

const { image, audio } = STANDING_IN;
const prompt = "A boat";
const frame = { aspect_ratio: "16:9", resolution: "720p" };

export interface Role extends Wish {
  readonly modality: "image" | "video" | "audio";
  /** Optional fields, most important first. Models that accept more of them are preferred. */
  readonly ranks: readonly string[];
}

export const STARTER_ROLES = {
  picture: { modality: "image", needs: { prompt }, likes: { aspect_ratio: "16:9" }, ranks: [] },
  film: { modality: "video", needs: { start_image: image, prompt }, likes: { ...frame, duration_ms: 3000 }, ranks: [] },
} as const satisfies Readonly<Record<string, Role>>;

export const CAST_ROLES = {
  image: {
    modality: "image",
    needs: { prompt },
    likes: { aspect_ratio: "16:9", images: [image] },
    ranks: ["aspect_ratio", "images"],
  },
  video: {
    modality: "video",
    needs: { start_image: image, prompt },
    likes: { ...frame, duration_ms: 3000, end_image: image, generate_audio: false },
    ranks: ["aspect_ratio", "end_image"],
  },
  speech: { modality: "audio", needs: { text: "The boat leaves at nine.", voice_id: ANY_VOICE }, likes: {}, ranks: [] },
  voiceClone: { modality: "audio", needs: { audio, name: "Ada" }, likes: {}, ranks: [] },
  avatar: {
    modality: "video",
    needs: { start_image: image, audio },
    likes: { prompt, ...frame },
    ranks: ["aspect_ratio", "prompt"],
  },
} as const satisfies Readonly<Record<string, Role>>;

export interface Choice {
  readonly model: string;
  readonly input: Input;
  /** Null if the service has no price. */
  readonly costMicros: number | null;
}

const REFUSED = new Set([400, 404, 410, 422]);

/** Returns the models that fit a role best, cheapest first. */
export async function chooseModels(client: Client, catalog: Catalog, role: Role): Promise<readonly Choice[]> {
  const fits = catalog
    .models()
    .filter(({ state, modality }) => state === "live" && modality === role.modality)
    .flatMap((model) => {
      const input = fitInput(catalog, model, role);
      return input === null ? [] : [{ model: model.id, input, lacks: lacking(role, input) }];
    });
  const fewest = Math.min(...fits.map(({ lacks }) => lacks));
  const best = fits.filter(({ lacks }) => lacks === fewest);
  const priced = await Promise.all(best.map((fit) => priceOf(client, fit)));
  return priced
    .filter((choice) => choice !== null)
    .sort((a, b) => (a.costMicros ?? Infinity) - (b.costMicros ?? Infinity) || (a.model < b.model ? -1 : 1));
}

function lacking({ ranks }: Role, input: Input): number {
  return ranks.reduce((sum, name) => 2 * sum + (input[name] === undefined ? 1 : 0), 0);
}

async function priceOf(client: Client, { model, input }: Pick<Choice, "model" | "input">): Promise<Choice | null> {
  try {
    const voice = input.voice_id === ANY_VOICE ? await firstVoice(client, model) : null;
    const given = voice === null ? input : { ...input, voice_id: voice };
    const { costMicros } = await client.estimate({ model, input: await withMedia(client, given) });
    return { model, input: given, costMicros };
  } catch (error) {
    if (error instanceof Error && "status" in error && REFUSED.has(Number(error.status))) return null;
    throw error;
  }
}

async function firstVoice(client: Client, model: string): Promise<string | null> {
  for await (const { id } of client.voices(model)) return id;
  return null;
}

const WANTED = { durationMs: 3000, ratio: 1 };

async function withMedia(client: Client, input: Input): Promise<Input> {
  const real = async (value: Json): Promise<Json> => {
    if (Array.isArray(value)) return Promise.all(value.map(real));
    const kind = (["image", "audio"] as const).find((one) => value === STANDING_IN[one]);
    return kind === undefined
      ? value
      : { source: "url", url: (await client.upload({ bytes: placeholderMedium(kind, WANTED, {}) })).url };
  };
  const entries = await Promise.all(
    Object.entries(input).map(async ([name, value]) => [name, await real(value)] as const),
  );
  return Object.fromEntries(entries);
}

type CatalogModel = ReturnType<Catalog["models"]>[number];
type JsonSchema = CatalogModel["inputSchema"];
export type Input = Readonly<Record<string, Json>>;

interface Wish {
  readonly needs: Input;
  /** Fields to set if the model accepts them. */
  readonly likes: Input;
}

/** Returns null if the model does not accept `needs`. */
export function fitInput(catalog: Catalog, model: CatalogModel, { needs, likes }: Wish): Input | null {
  const fields = propertiesOf(model.inputSchema);
  if (Object.keys(needs).some((name) => fields[name] === undefined)) return null;
  const { required } = model.inputSchema;
  const requiredNames = Array.isArray(required) ? (required as readonly string[]) : [];
  const input = (liked: Input): Input => {
    const names = [...Object.keys(liked), ...requiredNames].filter((name) => fields[name] !== undefined);
    const values = names.flatMap((name) => {
      const value = name in needs ? undefined : fieldValue(fields[name]!, liked[name]);
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...needs, ...Object.fromEntries(values) };
  };
  return [input(likes), input({})].find((each) => catalog.check(model, each).length === 0) ?? null;
}

function propertiesOf({ properties }: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return typeof properties === "object" && properties !== null ? (properties as Record<string, JsonSchema>) : {};
}

/** Returns the preferred value, the next larger listed number, or the field's default. */
function fieldValue(schema: JsonSchema, liked: Json | undefined): Json | undefined {
  const own = (schema.const ?? schema.default) as Json | undefined;
  if (!Array.isArray(schema.enum)) return liked ?? own ?? (schema.minimum as Json | undefined);
  const listed = schema.enum as readonly Json[];
  if (liked !== undefined && listed.includes(liked)) return liked;
  const larger = listed.filter((value) => typeof value === "number" && typeof liked === "number" && value > liked);
  return larger.length > 0 ? Math.min(...(larger as number[])) : (own ?? listed[0]);
}
