/** What to do about each error, for docs/errors.md; a test compares the codes with those of the sources. */

export const CURES: Readonly<Record<string, string>> = {
  ACCOUNT_MISMATCH:
    "Resume with the key and address that paid; where that account moved: `resume RUN --account-moved`.",
  BUILDER_CLOSED: "Add steps in `build` before it returns, not in a callback or after an `await`.",
  CALLER_ERROR: "Do what it says: it is the author's own.",
  CATALOG_SNAPSHOT: "Pull it again: `showrunner models pull`.",
  CODE_ELSEWHERE: "Name the file of the pipeline: `resume RUN --file FILE`, or start the process that has its code.",
  CLIENT_TIMEOUT: "Try again, or raise `timeoutMs`; of a submit, send the same key again.",
  CONNECTION_FAILED: "`showrunner doctor` says what cannot be reached; a run pauses and `resume` continues it.",
  CREDENTIALS: "Correct what the message names: package, certificate, key, or file.",
  DASHBOARD_PORT_IN_USE: "Name another port: `--port 0` takes a free one.",
  DOWNLOAD_FAILED: "`resume` fetches it again while the service still has it.",
  FAMILIES_INVALID: "Correct the file; [model families](model-families.md) has its form.",
  HANDLE_MISUSE: "Pass the handle itself, `.at(key)` for a part of a value, or `` text`…` `` for a sentence.",
  INCLUDE: "Give the included pipeline an input that its schema accepts.",
  INVALID_OPTION: "The message names the option and what it takes; [configuration](configuration.md) lists them.",
  JOURNAL_ACCESS: "Correct what the message names: user, password, database, TLS, or what the role is granted.",
  JOURNAL_BUSY: "Another process holds the file: wait for it, or end it; `runs` says which.",
  JOURNAL_CLOSED: "Keep the store open for as long as runs continue.",
  JOURNAL_CORRUPT: "Restore a copy. `showrunner reconcile` then lists jobs that it does not know.",
  JOURNAL_DISK_FULL: "Free disk space; runs continue where they stopped.",
  JOURNAL_DRIVER_MISSING: "`npm install pg`.",
  JOURNAL_FOLDER: "Make the folder, or name another with `--journal`.",
  JOURNAL_ILLEGAL_EVENT: "Restore a copy from before the damage; nothing was submitted after it was found.",
  JOURNAL_IO: "Check the disk; network file systems are not supported.",
  JOURNAL_NEWER_VERSION: "Update Showrunner; the message says to which version.",
  JOURNAL_NOT_A_JOURNAL: "Name the right file: `--journal`, or `SHOWRUNNER_JOURNAL`.",
  JOURNAL_READ_ONLY:
    "Make the file and its folder writable, or copy it and the files beside it and name the copy with `--journal`.",
  JOURNAL_RECORD_INVALID: "A mistake in the caller of the store; if you wrote no store, please report it.",
  JOURNAL_UNREACHABLE: "Check the database's address and network, then `resume`.",
  LOCAL_SERVICE_MISSING:
    "Install the package `showrunner-local` with the command shown, or set `SHOWRUNNER_BASE_URL` and `SHOWRUNNER_API_KEY`.",
  MALFORMED_RESPONSE:
    "Something between you and the service answers in its place, or it is no v3 service: `showrunner doctor`.",
  MEDIA_BUCKET:
    "Check the bucket's name, region and credentials; [shared media](shared-media.md) lists what they must allow.",
  MEDIA_DISK: "Free disk space or repair the disk, then `resume`; nothing is paid again.",
  MEDIA_FOLDER: "Make the folder writable, or choose another `mediaDir`.",
  MEDIA_LOST:
    "The run is paused. Put the file back where the message says, then `resume`; or `resume RUN --rerun STEP`, which makes it again: a paid step is paid again, and its price shown first.",
  MEDIA_MISSING: "Restore the media folder, or `resume RUN --rerun STEP`, which pays again and shows the price first.",
  MEDIA_PACKAGE_MISSING: "Install the packages that the message names.",
  MEDIA_PATH: "Choose another name for the result, or another `outDir`.",
  MIGRATE_DECISIONS: "Correct the decisions file; its line is named.",
  OVER_BUDGET: "Raise the budget, shorten the pipeline, or use a cheaper `--profile`.",
  PIPELINE_DEFINITION: "Correct the line of your pipeline that is named.",
  PLAN_PROBLEMS: "Correct what is listed: each has its step, its field and what is allowed.",
  QUOTE_REFUSED: "Look at what changed, and start with the new quote that it names: `showrunner plan` prints it too.",
  RECORDING_UNUSABLE: "Record to another folder.",
  RUN_BUSY: "Another process drives the run: follow it there, or stop it with `showrunner stop RUN`.",
  RUN_DIFFERS: "Choose another id, or take the changes over: `resume RUN --file FILE --accept-changes`.",
  RUN_EXISTS: "Resume it, or choose another id.",
  RUN_TAKEN_OVER: "Nothing: another process drives the run on. This one must not.",
  RUN_UNKNOWN: "`showrunner runs` lists the runs of a journal; `--journal` names another.",
  RUN_WHILE_LOADING: "Move what runs into a file of its own, or behind `if (import.meta.main)`.",
  SHIFT_SOUND: "Give a WAV or MP3 that can be decoded, and an offset within its length.",
  UNKNOWN_OUTCOME: "Send the same request with the same key again; never a new key. A run does so by itself.",
  UPLOAD_REFUSED: "Give a file of the kind and size that the message names.",
  V2_FILE: "Name a file that exists and can be read.",
  WALLET_SHORT: "Add funds at the address shown, or start anyway: the run pauses where it is short.",
};

/** Codes of the command line's own errors: cause and cure. */
export const CLI_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  USAGE: [
    "A flag or argument is missing, unknown or of the wrong form.",
    "Type what `Next:` says; `--help` of the command lists its flags.",
  ],
  PIPELINE_FILE_MISSING: ["There is no such file.", "Name one; `showrunner init` writes one."],
  PIPELINE_FILE_INVALID: [
    "The file does not compile, or imports what cannot be found.",
    "Correct the line that is shown.",
  ],
  PIPELINE_FILE_FAILED: ["The file threw while it was loaded.", "Correct the line that is shown."],
  PIPELINE_NOT_FOUND: ["The file exports no pipeline, or several and none was named.", "`file.ts#export`."],
  CODE_ELSEWHERE: ["A run needs code of its pipeline, and its file was moved.", "`resume RUN --file FILE`."],
  INPUT_INVALID: [
    "The input does not meet the pipeline's schema.",
    "The message names the field; `-i name=value` or `--input file.json`.",
  ],
  BUDGET_NEEDED: ["A run on a hosted service, without a terminal and without `--budget`.", "Add `--budget`."],
  RUN_INTERRUPTED: ["The run was stopped while it continued.", "`showrunner resume RUN`."],
  NOT_CONFIRMED: ["A question was answered with no.", "Nothing was spent."],
};
