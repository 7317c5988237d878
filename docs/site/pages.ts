/** The pages of the site by kind: what the sidebar and llms.txt list. Every page of docs/ must be here; a test compares. */
export interface Group {
  readonly title: string;
  readonly pages: readonly (readonly [file: string, title: string])[];
}

export const GROUPS: readonly Group[] = [
  {
    title: "Tutorial",
    pages: [
      ["tutorial", "From nothing to a film"],
      ["concepts", "Concepts"],
      ["pipelines", "Pipelines by example"],
      ["plans-and-quotes", "Plans and quotes"],
      ["second-choices", "Second choices"],
      ["recipes", "Recipes"],
    ],
  },
  {
    title: "How-to guides",
    pages: [
      ["how-to", "One task each"],
      ["troubleshooting", "Troubleshooting"],
      ["hosted", "Hosted services"],
      ["film", "Finishing a film"],
      ["changing-a-run", "Changing a run"],
      ["testing", "Testing your pipelines"],
      ["dashboard", "The dashboard"],
      ["notifications", "Notifications"],
      ["webhooks", "Webhooks"],
      ["in-your-server", "In your server: start, follow, serve"],
      ["agents", "For agents"],
      ["caps", "Caps and tags"],
      ["bulk", "Bulk starts"],
      ["schedules", "Run at set times"],
      ["monitoring", "Monitoring"],
      ["generate", "Other providers"],
      ["marks", "Marks"],
      ["scaling", "Beyond one process"],
      ["postgres", "A journal on PostgreSQL"],
      ["shared-media", "Shared media"],
      ["migrating-from-v2", "Migrating from v2"],
    ],
  },
  {
    title: "Reference",
    pages: [
      ["cli", "Command line"],
      ["api/index", "API by task"],
      ["configuration", "Configuration"],
      ["errors", "Errors"],
      ["events", "Events"],
      ["journal", "The journal"],
      ["lifecycle", "Statecharts"],
      ["client", "The client"],
      ["local-service", "The local service"],
      ["model-families", "Model families"],
    ],
  },
  {
    title: "Explanation",
    pages: [
      ["guarantees", "Guarantees"],
      ["comparison", "Comparison"],
      ["support", "Support and versions"],
      ["changelog", "Changelog"],
      ["contributing", "Contributing"],
      ["security", "Security"],
    ],
  },
];

/** The entries of the package, as typedoc reads them, by what they are for. */
export const ENTRIES: readonly (readonly [module: string, name: string, what: string])[] = [
  ["index", "showrunner", "Define, price, run, follow, change"],
  ["film/index", "showrunner/film", "Finish a film with ffmpeg: join, mix, captions and subtitles, reframe"],
  ["studio/handler/index", "showrunner/handler", "Pipelines as endpoints of your server"],
  ["studio/browser/index", "showrunner/browser", "Start and follow runs in a page"],
  ["testing/index", "showrunner/testing", "Test pipelines without paying"],
  ["fleet/worker/index", "showrunner/worker", "Workers and webhooks for several processes"],
  ["fleet/pg-boss/index", "showrunner/pg-boss", "Workers on PostgreSQL"],
  ["fleet/restate/index", "showrunner/restate", "Workers on Restate"],
  ["fleet/telemetry/index", "showrunner/telemetry", "Prometheus and OpenTelemetry"],
  ["core/api/index", "showrunner/client", "The service itself: jobs, files, webhooks"],
  ["migrate/index", "showrunner/migrate", "Documents of v2"],
  ["core/statecharts/index", "showrunner/statecharts", "Lifecycles as statecharts"],
];

/** What the names of the main entry are for, by the folder that they come from; the first that fits. */
export const TASKS: readonly (readonly [folder: string, task: string])[] = [
  ["./core/define/", "Define a pipeline"],
  ["./core/engine/bulk/", "Run many"],
  ["./core/engine/change/", "Change a run"],
  ["./core/engine/price/", "Price and run"],
  ["./core/engine/options/", "Price and run"],
  ["./core/engine/showrunner/", "Price and run"],
  ["./core/engine/drive/", "Follow a run"],
  ["./core/view/", "Follow a run"],
  ["./core/journal/", "Keep and read the journal"],
  ["./core/plan/", "Look into a plan"],
  ["./core/engine/provenance/", "Say how a file was made"],
  ["./core/catalog/", "Know models"],
  ["./core/families/", "Know models"],
  ["./core/api/", "Talk to the service"],
  ["./core/answers", "Talk to the service"],
  ["./core/engine/errors", "Handle errors"],
  ["./core/kit/errors", "Handle errors"],
];

/** Names of the main entry by task, in the order of the flow. */
export function namesByTask(index: string): ReadonlyMap<string, readonly string[]> {
  const found = [...index.matchAll(/^export (?:type )?\{([^}]*)\} from "([^"]+)";/gm)].flatMap(([, names, from]) => {
    const task = TASKS.find(([folder]) => from!.startsWith(folder))?.[1];
    if (task === undefined) throw new Error(`${from} has no task in docs/site/pages.ts`);
    const all = names!.split(",").map((name) => name.replace("type ", "").trim());
    return all.filter((name) => name !== "").map((name) => [task, name] as const);
  });
  const tasks = [...new Set(TASKS.map(([, task]) => task))];
  return new Map(tasks.map((task) => [task, found.flatMap(([of, name]) => (of === task ? [name] : []))]));
}
