/**
 * The assumptions of pages with shell commands, and how their commands end. test/package/docs-commands.full.test.ts, or readme.full.test.ts
 * beside it, runs every command line of a page in WALKS, in order and from one folder. NOT_HERE lists the other lines, each with the
 * reason.
 */
export interface Walk {
  /** True if the first line is typed in a clone, and the page installs the packages: test/package/readme.full.test.ts. */
  readonly isInClone?: boolean;
  /** Files of the project, in addition to `recipes`, `film.ts`, and the page's blocks with the mark `file=NAME`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Lines that are typed before the page's first command. */
  readonly before?: readonly string[];
  /** Placeholders on the page and their values in the test; `{url}` and `{key}` are the service's address and key. */
  readonly as?: readonly (readonly [onThePage: string, here: string])[];
  /** Exit codes other than 0, by the end of the line. */
  readonly exits?: Readonly<Record<string, number>>;
  /** Lines that run until they are stopped, by the end of the line, with the output that shows that they are ready. */
  readonly serves?: Readonly<Record<string, string>>;
}

/** A pipeline with a profile, and with the names of steps and fields that the pages use. */
export const FILM = `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("film", {
  input: z.object({ look: z.string().default("a red kite"), voice: z.string().default("thalia") }),
  profiles: { draft: { fields: { "image-1": { aspect_ratio: "1:1" } } } },
  build({ input, job }) {
    const picture = job("picture", "image-1", { prompt: input.look, aspect_ratio: "16:9" });
    const still = job("SKU-1.still", "image-1", { prompt: \`\${input.voice} holds it\` });
    return { picture, poster: job("poster", "image-1", { prompt: "on a poster", images: [picture] }), still };
  },
});
`;

const CARDS = `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("cards", {
  input: z.object({ slogan: z.string() }),
  build: ({ input, job }) => ({ card: job("card", "image-1", { prompt: input.slogan }) }),
});
`;

const NEWS = `import { pipeline } from "showrunner";
import { z } from "zod";

export default pipeline("news", {
  input: z.object({ day: z.string() }),
  build: ({ input, job }) => ({ card: job("card", "image-1", { prompt: input.day }) }),
});
`;

const address = "[?]token=";

export const WALKS: Readonly<Record<string, Walk>> = {
  "README.md": {
    isInClone: true,
    as: [
      // What runs here, and what `.ci/run` types.
      ["npm test", "true"],
      [" && npm run demo", ""],
      // Where the page shows a file, it is saved.
      ["models pull --local", "models pull --local && cp ../*.ts ."],
      ["npm i ", "npm i --prefer-offline --no-audit --no-fund "],
      ["https://api.example.com/v3", "{url}"],
      ["key_id:secret", "{key}"],
    ],
    serves: { "showrunner dashboard": address },
  },
  "recipes/README.md": { exits: { "takes.ts --id cat": 3 } },
  "recipes/distributed/README.md": {},
  "docs/agents.md": {
    files: { "pipelines/film.ts": FILM },
    as: [["--port 8789", "--port 0"]],
    serves: { "--http --port 8789": "Bearer" },
  },
  "docs/bulk.md": { files: { "cards.ts": CARDS, "rows.csv": "slogan\nGood\nBetter\n" } },
  "docs/marks.md": {},
  "docs/caps.md": {},
  "docs/client.md": { files: { "job.json": '{"input": {"prompt": "a red kite"}}' } },
  "docs/changing-a-run.md": {
    before: [
      "npx showrunner run film.ts --id kite",
      "sed -i 's/on a poster/on a wall/' film.ts",
      "echo 'A red boat at noon' >prompt.txt",
    ],
    as: [
      ["RUN", "kite"],
      ["still:", "picture:"],
      ["clip:duration_ms:=4000", "poster:seed:=4000"],
      ["clip:", "poster:"],
      ["STEP", "picture"],
    ],
    // Changes wait for a yes, and nothing of the run has failed.
    exits: {
      "--file film.ts": 3,
      "voice=iris": 3,
      "--rerun-failed": 2,
      'the client wants dawn"': 3,
      '@prompt.txt"': 3,
    },
  },
  "docs/dashboard.md": {
    as: [
      ["--port 8788", "--port 0"],
      ["10.0.0.4", "127.0.0.1"],
    ],
    exits: { "--id cat": 3 },
    serves: {
      "showrunner dashboard": address,
      "dashboard --local": address,
      "--port 8788": address,
      "--viewers": address,
    },
  },
  "docs/film.md": {},
  "docs/hosted.md": {
    before: ["rm film.ts"],
    as: [
      ["export SHOWRUNNER_SERVICE=hedra", "export SHOWRUNNER_BASE_URL={url}"],
      ["export HEDRA_API_KEY=key_id:secret", "export SHOWRUNNER_API_KEY={key}"],
      ["--balance 25", "--balance 25 --port 0 --data served"],
    ],
    serves: { "--balance 25": "SHOWRUNNER_API_KEY" },
  },
  "docs/how-to.md": {
    before: [
      "npx showrunner run film.ts --id film-1",
      "printf 'sku,look\\na-1,a mug\\n' >products.csv",
      "cp recipes/models.ts .",
    ],
  },
  "docs/local-service.md": {
    as: [["--port 8787 --data .showrunner/local", "--port 0 --data served"]],
    serves: { "--balance 25": "SHOWRUNNER_API_KEY" },
  },
  "docs/migrating-from-v2.md": {
    before: ["cp recipes/migrated/avatar-batch/v2.json v2.json"],
  },
  "docs/notifications.md": {
    before: ["cp film.ts ad.ts"],
    as: [["https://hooks.example/media", "{url}/media"]],
    serves: { "showrunner worker": "Worker started" },
  },
  "docs/pipelines.md": {
    before: [
      "cp recipes/models.ts .",
      "npx showrunner run presenter.ts -i look='a cook' -i line='Good day.' -i voice=voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01 --id cast || [ $? = 3 ]",
      "npx showrunner run presenter.ts -i look='a smith' -i line='Good day.' -i voice=voice_1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01 --id smith || [ $? = 3 ]",
    ],
    as: [
      ["reject RUN", "reject smith"],
      ["RUN", "cast"],
    ],
  },
  "docs/plans-and-quotes.md": { before: ["npx showrunner run recipes/localized-ad.ts --id last-week"] },
  "docs/schedules.md": { files: { "news.ts": NEWS } },
  "docs/shared-media.md": { as: [["/srv/media", "media"]] },
  "docs/webhooks.md": {
    as: [
      ["--port 8787 --data .showrunner/local", "--port 0 --data served"],
      ["http://127.0.0.1:8787/v3", "{url}"],
      ["http://127.0.0.1:8787/_local", "{url}/../_local"],
      ["key_id:secret", "{key}"],
      ["node hooks.ts", "PORT=0 node hooks.ts || true"],
    ],
    serves: { "--balance 25": "SHOWRUNNER_API_KEY", "node hooks.ts": "waiting" },
  },
};

/** Reasons for not running lines, by page and by the start of the line; `*` for a whole page. */
export const NOT_HERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docs/tutorial.md": { "*": "test/package/tutorial.full.test.ts runs all of it, with media that are drawn" },
  "src/cli/skills/showrunner/SKILL.md": { "*": "test/cli/skills.full.test.ts runs all of it" },
  "docs/internal/performance.md": { "*": "the benchmarks: hours" },
  "docs/marks.md": {
    "npm install @contentauth/c2pa-node": "test/core/marks/c2pa installs it",
    "npx showrunner sign": "that package and a certificate; test/core/marks/c2pa",
    "npx showrunner marks out/boat/film.signed.mp4": "that package and a certificate; test/core/marks/c2pa",
  },
  "docs/film.md": {
    "npx showrunner run advert.ts":
      "clips of the reader; test/recipes/recipes.full.test.ts runs product-ad, which makes its own",
  },
  "docs/postgres.md": { "*": "a database server; test/cli/postgres.long.test.ts" },
  "docs/support.md": { docker: "Docker; test/package/tools.full.test.ts has such a user and such a folder" },
  "docs/in-your-server.md": { "*": "test/package/in-your-server.full.test.ts runs what they prepare" },
  "docs/scaling.md": {
    "*": "a database server or Restate; test/cli/postgres.long.test.ts, test/cli/restate.full.test.ts",
  },
  "docs/testing.md": { "*": "Vitest of the registry; test/testing/node-test.long.test.ts runs such tests" },
  "docs/shared-media.md": { "npx showrunner run film.ts --media s3://": "a bucket; test/core/engine/media" },
  "recipes/distributed/README.md": {
    "npm install pg": "a database server; test/fleet/worker",
    "export SHOWRUNNER_": "a database server; test/fleet/worker",
    "npx showrunner doctor": "on that database",
    "npx showrunner worker --engine": "on that database",
    "npx showrunner run recipes/image-to-video.ts --id harbour": "on that database",
    "npx showrunner events harbour": "on that database",
    "npx showrunner show harbour": "on that database",
    "export POSTGRES_PASSWORD": "Docker; test/recipes/distributed.full.test.ts reads compose.yaml",
    docker: "Docker; test/recipes/distributed.full.test.ts reads compose.yaml",
    install: "writes to /etc",
    systemctl: "systemd; test/recipes/distributed.full.test.ts reads the unit",
    kubectl: "a cluster; test/recipes/distributed.full.test.ts reads kubernetes.yaml",
  },
};

/** The reason for not running a line; null if the line is run. */
export function reasonOf(document: string, text: string): string | null {
  const found = Object.entries(NOT_HERE[document] ?? {}).find(([start]) => start === "*" || text.startsWith(start));
  return found?.[1] ?? null;
}

/** Finds the entry whose key is the end of a line. */
export function endOf<T>(byEnd: Readonly<Record<string, T>> = {}, text: string): T | undefined {
  return Object.entries(byEnd).find(([end]) => text.endsWith(end))?.[1];
}
