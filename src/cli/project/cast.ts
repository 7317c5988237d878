import type { Catalog, Json, Showrunner } from "../../index.ts";
import { CAST_ROLES, type Choice, chooseModels, fitInput, type Input } from "./choose-models.ts";
import { literal } from "./starter.ts";

type RoleName = keyof typeof CAST_ROLES;
const ROLES = Object.keys(CAST_ROLES) as RoleName[];
const SHORT_MS = 3000;
const LONG_MS = 5000;
const FINE = { quality: "pro", resolution: "1080p", duration_ms: LONG_MS };

export interface Cast {
  readonly source: string;
  readonly missing: readonly RoleName[];
}

/** `names` maps model ids to their names in `models.ts`. */
export async function castFrom(show: Showrunner, catalog: Catalog, names: ReadonlyMap<string, string>): Promise<Cast> {
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
