/** The environment variables, for docs/configuration.md. A test compares them with those in the sources. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  SHOWRUNNER_SERVICE: "the name of a hosted service, such as `hedra`; see [hosted services](hosted.md)",
  SHOWRUNNER_BASE_URL:
    "the base URL of the service to use; if neither `SHOWRUNNER_BASE_URL` nor `SHOWRUNNER_SERVICE` is set, jobs go to the local service",
  SHOWRUNNER_API_KEY:
    "the key `<key_id>:<secret>`, or a token; if you name a service, the service's own variable (such as `HEDRA_API_KEY`) takes precedence",
  SHOWRUNNER_JOURNAL: "the file or the `postgres://` URL of the journal; the default is `.showrunner/journal.db`",
  SHOWRUNNER_MEDIA: "the folder or the `s3://` bucket for media; see [shared media](shared-media.md)",
  SHOWRUNNER_SPENDING_CAP: "the default for the `spendingCap` option of [openShowrunner](#openshowrunner)",
  SHOWRUNNER_CAPS: "[caps](caps.md) in addition to those in the `caps` option, such as `50/day,team=video:10/day`",
  SHOWRUNNER_CAP_TIME_ZONE: "the default for the `capTimeZone` option of [openShowrunner](#openshowrunner)",
  SHOWRUNNER_WALLET_FLOOR: "the default for the `walletFloor` option of [openShowrunner](#openshowrunner)",
  SHOWRUNNER_PUBLIC_URL:
    "the base address of [review links](dashboard.md#review-links), such as `https://review.example.com`",
  SHOWRUNNER_ENGINE_URL: "the URL of the shared engine, PostgreSQL or Restate; see [scaling](scaling.md)",
  SHOWRUNNER_ENGINE_TOKEN: "the API key of your Restate server, if it requires one; see [scaling](scaling.md)",
  SHOWRUNNER_FAMILIES: "a file with [model families](model-families.md) that override the built-in ones",
  SHOWRUNNER_NOTIFY_URL: "the webhook that [notifications](notifications.md) are sent to",
  SHOWRUNNER_NOTIFY_COMMAND: "the command to run for each notification",
  SHOWRUNNER_NOTIFY_KEY: "the key that signs notifications: 32 bytes in base64",
  SHOWRUNNER_SERVE_KEY: "the key that `showrunner serve` accepts",
  SHOWRUNNER_UPDATE_QUOTES: "if set to `1`, `assertSameQuote` in `showrunner/testing` rewrites the quote file",
  SHOWRUNNER_DEBUG: "if set to `1`, Showrunner prints the stack traces of unexpected errors",
};
