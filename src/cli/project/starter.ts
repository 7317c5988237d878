import type { Catalog, Json, Showrunner } from "../../index.ts";
import { type Choice, chooseModels, STANDING_IN, STARTER_ROLES } from "./choose-models.ts";

export interface Starter {
  readonly picture: Pick<Choice, "model" | "input">;
  readonly film: Pick<Choice, "model" | "input">;
}

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

/** Draws a picture, then animates it. Prices: npx showrunner plan <this file>. Try it: npx showrunner run <this file> --local */
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

export const literal = (value: Json) =>
  JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

const keyOf = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name));
