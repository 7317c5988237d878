/** What to do about each error, for docs/errors.md. A test compares the codes with those in the sources. */

export const CURES: Readonly<Record<string, string>> = {
  ACCOUNT_MISMATCH:
    "Resume with the key and address that the run was started with. If the key or address has changed, use `resume RUN --account-moved`.",
  BUILDER_CLOSED: "Add steps in `build` before it returns, not in a callback or after an `await`.",
  CALLER_ERROR: "Follow the message, which the pipeline's author wrote.",
  CATALOG_SNAPSHOT: "Pull the catalog again: `showrunner models pull`.",
  CODE_ELSEWHERE: "Pass the pipeline file (`resume RUN --file FILE`), or start a process that has the code.",
  CLIENT_TIMEOUT: "Try again, or raise `timeoutMs`. Send a submission again only with the same key.",
  CONNECTION_FAILED:
    "Run `showrunner doctor` to see what cannot be reached. A run pauses in this case, and `resume` continues it.",
  CREDENTIALS: "Correct the package, certificate, key or file shown in the message.",
  DASHBOARD_PORT_IN_USE: "Choose another port; `--port 0` picks a free one.",
  DOWNLOAD_FAILED: "Run `resume`, which downloads the output again as long as the service still has it.",
  FAMILIES_INVALID: "Correct the file; [model families](model-families.md) describes the format.",
  HANDLE_MISUSE: "Pass the handle itself, `.at(key)` for a part of a value, or `` text`…` `` for a sentence.",
  INCLUDE: "Call `include()` with the value that `pipeline(…)` returned, and remove any cycle of includes.",
  INVALID_OPTION:
    "The message shows the option and the values that it accepts; [configuration](configuration.md) lists all options.",
  JOURNAL_ACCESS: "Correct the user, password, database, TLS setting or grant shown in the message.",
  JOURNAL_BUSY:
    "Wait for the process that uses the file, or end that process. `showrunner runs` shows which process it is.",
  JOURNAL_CLOSED: "Keep the store open until all runs have stopped.",
  JOURNAL_CORRUPT:
    "Restore the journal from a copy. After that, `showrunner reconcile` lists the jobs that the copy doesn't contain.",
  JOURNAL_DISK_FULL: "Free disk space, then run `resume`. Runs continue where they stopped.",
  JOURNAL_DRIVER_MISSING: "Run `npm install pg`.",
  JOURNAL_FOLDER: "Create the folder, or choose another with `--journal`.",
  JOURNAL_ILLEGAL_EVENT:
    "Restore a copy of the journal from before the damage. Showrunner submitted nothing after it found the damage.",
  JOURNAL_IO: "Check the disk; network file systems are not supported.",
  JOURNAL_NEWER_VERSION: "Update Showrunner to the version shown in the message.",
  JOURNAL_NOT_A_JOURNAL: "Set the journal's correct path with `--journal` or `SHOWRUNNER_JOURNAL`.",
  JOURNAL_READ_ONLY:
    "Make the file and its folder writable. Or copy the file together with the files next to it, and pass the copy's path to `--journal`.",
  JOURNAL_RECORD_INVALID:
    "If you call the store yourself, correct the record. Otherwise, please report this error as a bug.",
  JOURNAL_UNREACHABLE: "Check the database's address and network, then run `resume`.",
  LOCAL_SERVICE_MISSING:
    "Install the `showrunner-local` package with the command that the message shows, or set `SHOWRUNNER_BASE_URL` and `SHOWRUNNER_API_KEY`.",
  MALFORMED_RESPONSE:
    "Run `showrunner doctor`. Either the base URL does not belong to a v3 service, or something between you and the service, such as a proxy, is responding in its place.",
  MEDIA_BUCKET:
    "Check the bucket's name, region and credentials; [shared media](shared-media.md) lists the permissions that are required.",
  MEDIA_DISK: "Free disk space or repair the disk, then run `resume`. Nothing is paid for twice.",
  MEDIA_FOLDER: "Make the folder writable, or choose another `mediaDir`.",
  MEDIA_LOST:
    "Put the file back where the message says, then run `resume`, or rerun the step with `resume RUN --rerun STEP`. If the step costs money, you pay for it again, but you see the price first.",
  MEDIA_MISSING:
    "Restore the media folder, or rerun the step with `resume RUN --rerun STEP`. If the step costs money, you pay for it again, but you see the price first.",
  MEDIA_PACKAGE_MISSING: "Install the packages shown in the message.",
  MEDIA_PATH: "Choose another name for the result, or a different `outDir`.",
  MIGRATE_DECISIONS: "Correct the decisions file at the line shown in the message.",
  OVER_BUDGET: "Raise the budget, shorten the pipeline, or use a cheaper `--profile`.",
  PIPELINE_DEFINITION: "Fix the line of your pipeline that is shown in the message.",
  PLAN_PROBLEMS: "Fix the listed problems. Each one names the step, the field and the allowed values.",
  QUOTE_REFUSED:
    "Check what changed, then start with the new quote shown in the message. `showrunner plan` also prints a new quote.",
  RECORDING_UNUSABLE: "Choose another folder, or another port with `--port`.",
  RUN_BUSY: "Follow the run with `showrunner events RUN --follow`, or stop the run with `showrunner stop RUN`.",
  RUN_DIFFERS: "Choose another id, or apply the changes: `resume RUN --file FILE --accept-changes`.",
  RUN_EXISTS: "Resume the existing run, or choose another id.",
  RUN_TAKEN_OVER: "You don't have to do anything, because the other process continues the run.",
  RUN_UNKNOWN: "`showrunner runs` lists the runs in the journal; use `--journal` for another journal.",
  RUN_WHILE_LOADING: "Move the code that starts the run into another file, or behind `if (import.meta.main)`.",
  SHIFT_SOUND: "Use a WAV or MP3 file that can be decoded, and an offset shorter than its audio.",
  UNKNOWN_OUTCOME:
    "Send the same request again with the same key and `mayExist: true`, never with a new key. In a run, Showrunner does so automatically.",
  UPLOAD_REFUSED: "Use a file of the kind and size shown in the message.",
  V2_FILE: "Pass the path of a file that exists and can be read.",
  WALLET_SHORT: "Add funds at the address shown. If you start the run anyway, the run pauses when the wallet is empty.",
};

/** Cause and cure of each error code of the command line itself. */
export const CLI_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  USAGE: [
    "A flag or argument is missing, unknown or malformed.",
    "Run the command shown after `Next:`; `--help` lists a command's flags.",
  ],
  PIPELINE_FILE_MISSING: [
    "The pipeline file does not exist.",
    "Check the path, or write a first pipeline with `showrunner init`.",
  ],
  PIPELINE_FILE_INVALID: [
    "The pipeline file does not compile, or imports something that cannot be found.",
    "Correct the line that the message shows.",
  ],
  PIPELINE_FILE_FAILED: ["The file threw an error while loading.", "Correct the line that the message shows."],
  PIPELINE_NOT_FOUND: [
    "The file exports no pipeline, or more than one.",
    "Add the name of the export to the path: `file.ts#export`.",
  ],
  CODE_ELSEWHERE: [
    "A run needs its pipeline's code, but the file was moved or is outside the current folder.",
    "Run `showrunner resume RUN --file FILE`.",
  ],
  INPUT_INVALID: [
    "The input does not fit the pipeline's schema.",
    "Correct the field that the message shows, with `-i name=value` or `--input @file.json`.",
  ],
  BUDGET_NEEDED: [
    "A run on a hosted service was started without a terminal and without `--budget`.",
    "Add `--budget`.",
  ],
  RUN_INTERRUPTED: [
    "An error stopped the command after the run had started; money may have been spent.",
    "Fix the problem described in the message, then run `showrunner resume RUN`.",
  ],
  NOT_CONFIRMED: [
    "You answered no to a question, or the command couldn't ask because there was no terminal. Nothing was spent.",
    "To agree, run the command shown after `Next:`.",
  ],
};
