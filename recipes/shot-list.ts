import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { pipeline, quorum } from "showrunner";
import { z } from "zod";
import { cast } from "./cast.ts";
import { joinClips } from "./lib/film.ts";

const shot = z.object({
  name: z.string().regex(/^[a-z0-9-]+$/),
  prompt: z.string().min(1),
  ratio: z.enum(["16:9", "9:16", "1:1"]),
  length: z.enum(["short", "long"]),
});

/** Reads the file when the input is checked. The journal then stores the rows, and the file is not needed again. */
const shots = z
  .string()
  .default(join(import.meta.dirname, "assets", "shots.csv"))
  .transform((path) =>
    parse(readFileSync(path, "utf8"), { columns: true, bom: true, trim: true, skip_empty_lines: true }),
  )
  .pipe(z.array(shot).min(1));

/** A shot list from a spreadsheet: one clip per row, and a film of the clips that succeed, if at least two succeed. */
export default pipeline("shot-list", {
  input: z.object({ shots }),
  build({ input, job, task }) {
    const clips = input.shots.map(({ name, prompt, ratio, length }) =>
      job(`clip-${name}`, cast.video, {
        prompt,
        aspect_ratio: ratio,
        ...(length === "long" ? cast.longClip : cast.clip),
        ...cast.silent,
      }),
    );
    const film = task(
      "film",
      { clips },
      async ({ clips }, { file }) => {
        const paths = clips.map(({ path }) => path);
        return joinClips(paths, file("film"));
      },
      { files: { film: "video" }, onFailure: quorum(2) },
    );
    return { film };
  },
});
