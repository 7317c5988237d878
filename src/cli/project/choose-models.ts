import { placeholderMedium } from "../../core/kit/placeholder-media.ts";
import type { Catalog, Client, Json, Showrunner } from "../../index.ts";

/** Placeholders for media in inputs that are checked against a schema. Before pricing, uploaded files replace them. */
const STANDING_IN = {
  image: { source: "url", url: "https://example.com/picture.png" },
  audio: { source: "url", url: "https://example.com/speech.wav" },
} as const;
const ANY_VOICE = "a voice";

const { image, audio } = STANDING_IN;
const prompt = "A boat";
const frame = { aspect_ratio: "16:9", resolution: "720p" };

interface Role {
  readonly needs: Input;
  readonly likes: Input;
  readonly modality: "image" | "video" | "audio";
  /** Optional fields, most important first. Models that accept more of them are preferred. */
  readonly ranks: readonly string[];
}

const STARTER_ROLES = {
  picture: { modality: "image", needs: { prompt }, likes: { aspect_ratio: "16:9" }, ranks: [] },
  film: { modality: "video", needs: { start_image: image, prompt }, likes: { ...frame, duration_ms: 3000 }, ranks: [] },
} as const satisfies Readonly<Record<string, Role>>;

const CAST_ROLES = {
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

interface Choice {
  readonly model: string;
  readonly input: Input;
  readonly costMicros: number | null;
}

const REFUSED = new Set([400, 404, 410, 422]);

/** Returns the models that fit a role best, cheapest first. */
async function chooseModels(client: Client, catalog: Catalog, role: Role): Promise<readonly Choice[]> {
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
type Input = Readonly<Record<string, Json>>;

function fitInput(
  catalog: Catalog,
  model: CatalogModel,
  { needs, likes }: Pick<Role, "needs" | "likes">,
): Input | null {
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

/**
 * Returns the preferred value if the field allows it. Otherwise, returns the next larger number that the field lists
 * or, if there is none, the field's default.
 */
function fieldValue(schema: JsonSchema, liked: Json | undefined): Json | undefined {
  const own = (schema.const ?? schema.default) as Json | undefined;
  if (!Array.isArray(schema.enum)) return liked ?? own ?? (schema.minimum as Json | undefined);
  const listed = schema.enum as readonly Json[];
  if (liked !== undefined && listed.includes(liked)) return liked;
  const larger = listed.filter((value) => typeof value === "number" && typeof liked === "number" && value > liked);
  return larger.length > 0 ? Math.min(...(larger as number[])) : (own ?? listed[0]);
}

type Starter = Readonly<Record<"picture" | "film", Pick<Choice, "model" | "input">>>;

export const LOCAL_STARTER: Starter = {
  picture: { model: "image-1", input: { prompt: "", aspect_ratio: "16:9" } },
  film: {
    model: "video-1",
    input: { start_image: STANDING_IN.image, prompt: "", aspect_ratio: "16:9", resolution: "720p", duration_ms: 3000 },
  },
};

export async function chooseStarter(show: Showrunner, catalog: Catalog): Promise<Starter | null> {
  const [picture] = await chooseModels(show.client, catalog, STARTER_ROLES.picture);
  const [film] = await chooseModels(show.client, catalog, STARTER_ROLES.film);
  return picture === undefined || film === undefined ? null : { picture, film };
}

export function starterSource({ picture, film }: Starter): string {
  return `import { pipeline } from "showrunner";
import { z } from "zod";

/** Generates an image, then animates it. Prices: npx showrunner plan <this file>. Try it: npx showrunner run <this file> --local */
export default pipeline("first-film", {
  input: z.object({
    scene: z.string().min(1).default("A sailing boat on a calm sea at sunset"),
    motion: z.string().min(1).default("The boat drifts slowly to the right, the water glitters"),
  }),
  build({ input, job }) {
    // A step has a name, a model and its input. \`npx showrunner models pull\` writes typed models to use instead of ids.
${step("picture", picture, { prompt: "input.scene" })}
    // Using a step in another step's input makes that step wait for it.
${step("film", film, { start_image: "picture", prompt: "input.motion" })}
    // Returned results become named files in out/<run id>.
    return { picture, film };
  },
});
`;
}

function step(name: string, { model, input }: Starter["film"], code: Readonly<Record<string, string>>): string {
  const fields = Object.entries(input).map(([field, value]) => `${keyOf(field)}: ${code[field] ?? literal(value)}`);
  const line = `    const ${name} = job("${name}", ${literal(model)}, { ${fields.join(", ")} });`;
  if (line.length <= 120) return line;
  const lines = fields.map((field) => `      ${field},\n`);
  return `    const ${name} = job("${name}", ${literal(model)}, {\n${lines.join("")}    });`;
}

const literal = (value: Json) =>
  JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

const keyOf = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name));

type RoleName = keyof typeof CAST_ROLES;
const ROLES = Object.keys(CAST_ROLES) as RoleName[];
const SHORT_MS = 3000;
const LONG_MS = 5000;
const FINE = { quality: "pro", resolution: "1080p", duration_ms: LONG_MS };

/** Chooses the models and settings for the recipes. `names` maps model ids to their names in `models.ts`. */
export async function castFrom(show: Showrunner, catalog: Catalog, names: ReadonlyMap<string, string>) {
  const models: Partial<Record<RoleName, Choice>> = {};
  for (const role of ROLES) {
    const [first] = await chooseModels(show.client, catalog, CAST_ROLES[role]);
    if (first !== undefined) models[role] = first;
  }
  const settings = (role: "image" | "video", likes: Input) => {
    const model = catalog.model(models[role]?.model ?? "");
    const input =
      model && fitInput(catalog, model, { needs: CAST_ROLES[role].needs, likes: { aspect_ratio: "16:9", ...likes } });
    return code(some(input, ["quality", "resolution", "duration_ms"]));
  };
  const { speech, video, avatar } = models;
  const short = { resolution: "720p", duration_ms: SHORT_MS };
  const nameOf = (role: RoleName) => models[role] && names.get(models[role].model);
  const missing = ROLES.filter((role) => nameOf(role) === undefined);
  const lines = [
    ...ROLES.filter((role) => !missing.includes(role)).map((role) => `${role}: models.${nameOf(role)},`),
    'chat: "chat-1",',
    `voice: ${literal(speech?.input.voice_id ?? "")},`,
    `clip: ${settings("video", short)},`,
    `longClip: ${settings("video", { ...short, duration_ms: LONG_MS })},`,
    `silent: ${code(some(video?.input, ["generate_audio"]))},`,
    `portrait: ${code(some(avatar?.input, ["quality", "resolution"]))},`,
    `fine: { image: ${settings("image", { quality: "pro" })}, clip: ${settings("video", FINE)} },`,
    `coarse: { image: ${settings("image", { quality: "standard" })}, clip: ${settings("video", { quality: "standard", ...short })} },`,
  ];
  const body = lines.map((line) => `  ${line}\n`).join("");
  const about = "/** The models of the recipes, and all settings that depend on them. */";
  return {
    source: `import { models } from "./models.ts";\n\n${about}\nexport const cast = {\n${body}} as const;\n`,
    missing,
  };
}

function some(input: Input | null | undefined, names: readonly string[]): Input {
  return Object.fromEntries(Object.entries(input ?? {}).filter(([name]) => names.includes(name)));
}

const code = (input: Input) => {
  const fields = Object.entries(input).map(([name, value]: [string, Json]) => `${name}: ${literal(value)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
};
