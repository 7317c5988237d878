import { globSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";

/** Private names that the code once had, with the field's word for each. Only those that mean nothing else. */
const RETIRED: Readonly<Record<string, string>> = {
  askedNow: "currentIdentity",
  MadeNotes: "ResultRecorder",
  MadeStep: "CacheEntry",
  PastResults: "ResultCache",
  Unusable: "CacheMiss",
  underWay: "inFlight",
  stillRunning: "openJobs",
  roomMicros: "headroomMicros",
  afterReserving: "minusHold",
  Remake: "RerunScope",
  Roots: "RerunRoots",
  conclude: "finishRun",
  takeIn: "collectOutputs",
  isQuiet: "hasNoOpenJobs",
  isPassing: "isTransient",
  isDiskTrouble: "isDiskError",
  TROUBLE_WAIT_MS: "RETRY_DELAY_MS",
  standIn: "placeholderInput",
  Outlook: "ReusePreview",
  prospectsOf: "forecastRun",
  RunShelf: "RunRepository",
  Driving: "RunSupervisor",
  sayChanges: "formatChanges",
  materialise: "resolveUploads",
  lookAround: "listNearbyJobs",
  voided: "superseded",
  unwanted: "skippedByCondition",
  presumedMicros: "unconfirmedMicros",
  ghost: "recoveryHandle",
  Spot: "InputLocation",
  placeInput: "bindInput",
  patiently: "retryWhileBusy",
  calmly: "throttle",
  nextLook: "nextPoll",
  Tail: "SeenUpdates",
  Crew: "WorkerPool",
  Ground: "VerificationTarget",
  passDoor: "login",
  Desk: "MigrationContext",
  snap: "coerce",
  waitAfter: "delayAfter",
  madeOfTheSame: "restoreIfUnchanged",
  lookAgain: "recheckUnresolved",
  hearsService: "reportsProgress",
  asksService: "usesService",
  troubleOf: "failureReason",
  Trouble: "FailureReason",
  BucketTrouble: "BucketFailure",
  Patience: "Timeouts",
  PATIENCE: "TIMEOUTS",
  PATIENCE_MS: "TIMEOUT_MS",
  likeness: "similarity",
  isThrough: "hasResult",
  lackReason: "missingInput",
  goesOn: "resumes, continues",
  rests: "isIdle",
  told: "reported",
  Noted: "recorded",
  toldInput: "manifestInput",
};

/** Words that mean something elsewhere, with the folder in which they do not. */
const RETIRED_IN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "core/answers.ts": { spoken: "envelope", bare: "noEnvelope", silent: "noResponse" },
  ...Object.fromEntries(
    ["cli", "core/engine", "studio/handler", "core/journal", "studio/mcp", "core/run"].map((one) => [
      one,
      { room: "headroom" },
    ]),
  ),
  "core/api": { hear: "onMessage" },
  "core/engine/drive": { hear: "onMessage" },
  "core/engine/slice": { hear: "onMessage" },
  "core/engine/reuse": {
    nothing: "none",
    known: "folded, recorded",
    claimed: "used",
    take: "find",
    through: "usedBy",
    because: "cause",
    imagined: "preview",
  },
};

/** File names that went with them. */
const RETIRED_FILES: ReadonlySet<string> = new Set(
  [
    ...["asked", "made", "look-back", "under-way", "still-running", "room", "remake", "ending", "turn", "disk-trouble"],
    ...["service-trouble", "stand-in", "outlook", "prospects", "run-shelf", "driving", "said-change", "ghost", "words"],
    ...[
      "near",
      "patience",
      "calmly",
      "tail",
      "talk",
      "crew",
      "ground",
      "door",
      "looking",
      "steering",
      "desk",
      "ladder",
    ],
    ...["hold-run", "paper-service", "paper-show", "paper-run", "mortal", "deadly-world"],
  ].map((name) => `${name}.ts`),
);

/** Files whose name is an ordinary word there: a talking head that is rendered, words of a page or of a message. */
const ALLOWED_FILES: ReadonlySet<string> = new Set([join("local-service", "render", "video", "talk.ts")]);

/** What others wrote, or what was made from it. */
const OTHERS = ["**/node_modules/**", "THIRD_PARTY_NOTICES.md"];

const root = join(import.meta.dirname, "../..");

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && !path.includes("node_modules"))
    .map((path) => path);
}

/** Code without comments and texts, in which a word may mean anything. */
function identifiersOf(code: string): ReadonlySet<string> {
  const bare = code.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gm, "");
  return new Set(bare.match(/[A-Za-z_$][\w$]*/g));
}

test("no identifier of src has a private word that the field has a standard term for", () => {
  const found = filesIn("src").flatMap((path) => {
    const names = identifiersOf(readFileSync(join(root, "src", path), "utf8"));
    return Object.entries(RETIRED).flatMap(([old, word]) => (names.has(old) ? [`${path}: ${old} (${word})`] : []));
  });
  expect(found).toEqual([]);
});

test("no identifier of a folder is a word that means something else in the others", () => {
  const found = Object.entries(RETIRED_IN).flatMap(([folder, words]) => {
    const files = folder.endsWith(".ts") ? [""] : filesIn(join("src", folder));
    expect(files.length, folder).toBeGreaterThan(0);
    return files.flatMap((path) => {
      const names = identifiersOf(readFileSync(join(root, "src", folder, path), "utf8"));
      return Object.entries(words).flatMap(([old, word]) =>
        names.has(old) ? [`${folder}/${path}: ${old} (${word})`] : [],
      );
    });
  });
  expect(found).toEqual([]);
});

test("no file of src or test is named by a private word", () => {
  const found = ["src", "test"].flatMap((folder) =>
    filesIn(folder).filter((path) => RETIRED_FILES.has(basename(path)) && !ALLOWED_FILES.has(path)),
  );
  expect(found).toEqual([]);
});

/** Phrases that the field says otherwise, in texts, comments and pages. */
const RETIRED_PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\b(?:goes|go|went|gone|going) on\b/i, "continue, resume"],
  [/\btold\b/i, "reported, notified"],
  [/\bin good order\b/, "gracefully"],
  [/\bdrives? every run\b|\bcould continue and that no process\b/, "continue all resumable runs"],
  [/\bNoted(?: for| that|:)/, "recorded"],
  [/\b(?:rests|parks)\b/, "is idle, is parked"],
  [
    /\b(?:likeness|materialise|outlook|patience|troubles?)\b/i,
    "similarity, resolve uploads, preview, timeout, failure",
  ],
  [/\b(?:troubleOf|madeOfTheSame|lookAgain|hearsService|asksService|isThrough|lackReason)\b/, "see RETIRED"],
];

/** Names that a line of the changelog or of a page about tests quotes. */
const QUOTED = /`[^`]*`|(?<=\.ts`, )"[^"]*"/g;

/** SQL that journals already hold, and its page: another comment would be another statement. The names of tests. */
const ALLOWED_PHRASES = [
  join("src", "core", "journal", "sqlite", "schema.ts"),
  join("src", "core", "journal", "postgres", "write-function.ts"),
  join("docs", "internal", "journal-schema.md"),
  join("docs", "internal", "coverage.md"),
];

test("no text or comment of ours, and no page, has a phrase that the field says otherwise", () => {
  const pages = globSync(["*.md", "{docs,recipes,skills,site,bench}/**/*.md"], { cwd: root, exclude: OTHERS });
  const code = ["{bench,scripts,site,recipes}/**/*.ts", "bin/*", "recipes/**/*.service"];
  const files = [
    ...filesIn("src").map((path) => join("src", path)),
    ...pages,
    ...globSync(code, { cwd: root, exclude: OTHERS }),
  ];
  const found = files
    .filter((path) => !ALLOWED_PHRASES.includes(path))
    .flatMap((path) =>
      readFileSync(join(root, path), "utf8")
        .split("\n")
        .flatMap((line, index) =>
          RETIRED_PHRASES.flatMap(([phrase, word]) => {
            const found = phrase.exec(path.endsWith(".md") ? line.replace(QUOTED, "") : line)?.[0];
            return found === undefined ? [] : [`${path}:${index + 1}: ${found} (${word})`];
          }),
        ),
    );
  expect(found).toEqual([]);
});
