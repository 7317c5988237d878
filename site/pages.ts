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
      ["recipes", "Recipes"],
    ],
  },
  {
    title: "How-to guides",
    pages: [
      ["how-to", "One task each"],
      ["hosted", "Hosted services"],
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
      ["api/index", "API"],
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
