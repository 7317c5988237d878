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
      ["pipelines", "Pipelines by example"],
      ["second-choices", "Second choices"],
      ["recipes", "Recipes"],
    ],
  },
  {
    title: "How-to guides",
    pages: [
      ["how-to", "One task each"],
      ["hosted", "Hosted services"],
      ["film", "To the finished film"],
      ["changing-a-run", "Changing a run"],
      ["testing", "Testing your pipelines"],
      ["dashboard", "The dashboard"],
      ["notifications", "Notifications"],
      ["webhooks", "Webhooks"],
      ["in-your-server", "In your server: start, follow, serve"],
      ["agents", "For agents"],
      ["caps", "Caps and tags"],
      ["bulk", "Bulk starts"],
      ["schedules", "Schedules"],
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
  ["handler/index", "showrunner/handler", "Pipelines as endpoints of your server"],
  ["browser/index", "showrunner/browser", "Start and follow runs in a page"],
  ["testing/index", "showrunner/testing", "Test pipelines without paying"],
  ["worker/index", "showrunner/worker", "Workers and webhooks for several processes"],
  ["pg-boss/index", "showrunner/pg-boss", "Workers on PostgreSQL"],
  ["restate/index", "showrunner/restate", "Workers on Restate"],
  ["telemetry/index", "showrunner/telemetry", "Prometheus and OpenTelemetry"],
  ["api/index", "showrunner/client", "The service itself: jobs, files, webhooks"],
  ["migrate/index", "showrunner/migrate", "Documents of v2"],
  ["statecharts/index", "showrunner/statecharts", "Lifecycles as statecharts"],
];

/** What the names of the main entry are for, by the folder that they come from; the first that fits. */
export const TASKS: readonly (readonly [folder: string, task: string])[] = [
  ["./define/", "Define a pipeline"],
  ["./engine/bulk/", "Run many"],
  ["./engine/schedule/", "Run many"],
  ["./engine/change/", "Change a run"],
  ["./engine/price/", "Price and run"],
  ["./engine/options/", "Price and run"],
  ["./engine/showrunner/", "Price and run"],
  ["./engine/drive/", "Follow a run"],
  ["./run/", "Follow a run"],
  ["./journal/", "Keep and read the journal"],
  ["./plan/", "Look into a plan"],
  ["./engine/provenance/", "Say how a file was made"],
  ["./catalog/", "Know models"],
  ["./families/", "Know models"],
  ["./api/", "Talk to the service"],
  ["./answers/", "Talk to the service"],
  ["./engine/errors", "Handle errors"],
  ["./errors", "Handle errors"],
];

/** Names of the main entry by task, in the order of the flow. */
export function namesByTask(index: string): ReadonlyMap<string, readonly string[]> {
  const found = [...index.matchAll(/^export (?:type )?\{([^}]*)\} from "([^"]+)";/gm)].flatMap(([, names, from]) => {
    const task = TASKS.find(([folder]) => from!.startsWith(folder))?.[1];
    if (task === undefined) throw new Error(`${from} has no task in site/pages.ts`);
    const all = names!.split(",").map((name) => name.replace("type ", "").trim());
    return all.filter((name) => name !== "").map((name) => [task, name] as const);
  });
  const tasks = [...new Set(TASKS.map(([, task]) => task))];
  return new Map(tasks.map((task) => [task, found.flatMap(([of, name]) => (of === task ? [name] : []))]));
}
