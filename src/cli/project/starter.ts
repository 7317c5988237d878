/** What `showrunner init` writes: a pipeline of two steps that runs as it is. */
export const STARTER = `import { pipeline } from "showrunner";
import { z } from "zod";

/** Draws a picture, then sets it in motion. Prices: npx showrunner plan <this file>. Try it: npx showrunner run <this file> --local */
export default pipeline("first-film", {
  input: z.object({
    scene: z.string().min(1).default("A sailing boat on a calm sea at sunset"),
    motion: z.string().min(1).default("The boat drifts slowly to the right, the water glitters"),
  }),
  build({ input, job }) {
    // Steps have a name, a model and its input. \`npx showrunner models pull\` writes typed models to use in place of ids.
    const picture = job("picture", "image-1", { prompt: input.scene, aspect_ratio: "16:9" });
    // Using a step inside another step's input is what makes it wait for that step.
    const film = job("film", "video-1", {
      start_image: picture,
      prompt: input.motion,
      aspect_ratio: "16:9",
      resolution: "720p",
      duration_ms: 3000,
    });
    // What is returned becomes named files in out/<run id>.
    return { picture, film };
  },
});
`;

/** Settings under which pipelines type-check as Node runs them. */
export const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true
  }
}
`;
