/** Variables of the environment, for docs/configuration.md; a test compares them with those of the sources. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  SHOWRUNNER_SERVICE: "a hosted service by name, such as `hedra`; [hosted services](hosted.md)",
  SHOWRUNNER_BASE_URL: "address of any service; without either of them jobs go to the local one",
  SHOWRUNNER_API_KEY:
    "`<key_id>:<secret>`, or a token; the variable of the named service (`HEDRA_API_KEY`) comes before it",
  SHOWRUNNER_JOURNAL: "journal: a file, or a `postgres://` URL; default `.showrunner/journal.db`",
  SHOWRUNNER_MEDIA: "where media are kept: a folder or an `s3://` bucket; [shared media](shared-media.md)",
  SHOWRUNNER_SPENDING_CAP: "`spendingCap`, below",
  SHOWRUNNER_CAPS: "further caps, such as `50/day,team=video:10/day`",
  SHOWRUNNER_CAP_TIME_ZONE: "`capTimeZone`",
  SHOWRUNNER_WALLET_FLOOR: "`walletFloor`",
  SHOWRUNNER_PUBLIC_URL:
    "address that [review links](dashboard.md#review-links) lead to, such as `https://review.example.com`",
  SHOWRUNNER_ENGINE_URL: "the shared engine: PostgreSQL or Restate; [scaling](scaling.md)",
  SHOWRUNNER_ENGINE_TOKEN: "API key that Restate asks for; [scaling](scaling.md)",
  SHOWRUNNER_FAMILIES: "file of [model families](model-families.md) over the built-in ones",
  SHOWRUNNER_NOTIFY_URL: "webhook for [notifications](notifications.md)",
  SHOWRUNNER_NOTIFY_COMMAND: "command for them",
  SHOWRUNNER_NOTIFY_KEY: "file of the key that signs them",
  SHOWRUNNER_SERVE_KEY: "credential that `showrunner serve` accepts",
  SHOWRUNNER_UPDATE_QUOTES: "`1`: `assertSameQuote` of `showrunner/testing` writes the quote anew",
  SHOWRUNNER_DEBUG: "`1`: stack traces of unexpected errors",
};
