/** Groups of operations, in the document's order. */
export const TAGS = {
  models: "Models",
  submit: "Submit",
  jobs: "Jobs",
  files: "Files",
  chat: "Chat",
  billing: "Billing",
  keys: "Keys",
  webhooks: "Webhooks",
  drains: "Log drains",
  openapi: "OpenAPI",
} as const;

const ABOUT: Readonly<Record<keyof typeof TAGS, string>> = {
  models: "The catalog, prices, and the submit for any model.",
  submit: "One typed submit a model of the catalog.",
  jobs: "Follow jobs and read their outputs.",
  files: "Inputs to jobs.",
  chat: "Chat completions; each is a job.",
  billing: "The wallet and what was spent.",
  keys: "Keys and short-lived tokens.",
  webhooks: "Signed announcements of jobs that ended.",
  drains: "Lifecycle events, sent on in batches.",
  openapi: "This description.",
};

export const TAG_OBJECTS = Object.entries(ABOUT).map(([key, description]) => ({
  name: TAGS[key as keyof typeof TAGS],
  description,
}));
