import { type Command, Option } from "commander";
import {
  type Act,
  collect,
  engineOption,
  engineUrlOption,
  withInput,
  withNotify,
  withPlanning,
  withRateLimit,
  withRows,
  withService,
  withSpending,
  withTables,
  withUnquoted,
  withWaitForCap,
} from "./flags.ts";

/** Commands that price and run pipelines. */
export function addRunning(program: Command, act: Act): void {
  const run = withService(
    withInput(program.command("run <file[#export]>"))
      .description("price a pipeline, run it, show how it goes")
      .option("--budget <usd>", "the most that the run may cost"),
  )
    .option("--id <id>", "name of the run (default: generated)")
    .addOption(
      new Option(
        "--on-existing <what>",
        "when a run of this --id exists: resume it where plan and input are the same (one under way is followed), or fail",
      )
        .choices(["resume", "fail"])
        .default("resume"),
    )
    .option("--out <dir>", "folder of the returned files");
  withRows(run)
    .option("--at-once <n>", "with --each: runs at a time (default: 4)")
    .option("--tag <key=value>", "label of the run, to list and cap runs by; repeatable", collect)
    .option("--quote <id>", "start only what this quote of `plan` was for, at no more than its maximum")
    .option("--start-anyway", "start although the wallet does not hold the least that the plan costs")
    .option("--concurrency <limits>", "jobs at a time: 8, or total=8,video=2")
    .option("--profile <name>", "one of the pipeline's profiles, such as draft")
    .option("--marks", "let returned files say that a machine made them; see docs/marks.md")
    .option("--reuse", "reuse results of earlier runs with identical inputs, at no cost")
    .option(
      "--give-up-after <duration>",
      "pause when the service is unavailable for this long: 5m (default), 90s, never",
    )
    .option("--detach", "run in a background process; prints the run's id and how to follow it")
    .addOption(engineOption("with --detach: leave the run to the workers of this engine"))
    .addOption(engineUrlOption())
    .action(act(async () => (await import("../commands/run.ts")).run));
  withTables(withPlanning(withRateLimit(withNotify(withWaitForCap(withSpending(withUnquoted(run)))))));
  const plan = withService(
    withInput(program.command("plan <file[#export]>")).description("check and price a pipeline; spends nothing"),
  );
  withRows(plan)
    .option("--id <id>", "with --each: the name of the rows together, as run takes it (default: that of the file)")
    .option("--concurrency <limits>", "jobs at a time for the forecast: 8, or total=8,video=2")
    .option("--profile <name>", "one of the pipeline's profiles, such as draft")
    .option("--reuse", "price results that earlier runs with identical inputs have at zero")
    .option("--against <run-id|file>", "say what differs from a run's plan or from another file, and what that costs")
    .option("--mermaid", "print the plan as a Mermaid flowchart")
    .option("--svg <file>", "draw the plan into an SVG file")
    .action(act(async () => (await import("../commands/plan.ts")).plan));
  withTables(withPlanning(withRateLimit(withUnquoted(plan))));
  const resume = withService(
    program
      .command("resume <run-id>")
      .description("resume a run that was killed, stopped or paused")
      .option("--budget <usd>", "a new budget, replacing the run's own")
      .option("--yes", "accept the price of the steps that run again"),
  )
    .option("--agree <usd>", "what a run with a shared budget may cost by itself, where it asks for that")
    .option("--quote <id>", "run again only what this quote was for, at no more than its maximum")
    .option("--max-unquoted <usd>", "likewise for the most that a job without a price in advance may cost")
    .option(
      "--wait-for-funds <duration>",
      "when the wallet is short, wait this long for funds before pausing: 30m, 2h, 90s",
    )
    .option(
      "--give-up-after <duration>",
      "pause when the service is unavailable for this long: 5m (default), 90s, never",
    )
    .option("--file <file[#export]>", "the pipeline as it is now; says what changed since the run was planned")
    .option("--accept-changes", "apply code changes: run changed and new steps, and all that depend on them, again")
    .option(
      "--input <json|@file>",
      "corrected fields of the run's input; compared, priced and accepted like changed code",
    )
    .option(
      "-i <key=value>",
      "one corrected field of the input; key:=json for anything but text, key=@rows.csv or @value.json for a file",
      collect,
    )
    .option(
      "--edit <step:field=value>",
      "a field of a job's or chat's input, from now on; step:field:=json for anything but text, step:field=@file; repeatable",
      collect,
    )
    .option("--everywhere", "with --edit: replace that text in other steps too")
    .option("--no-everywhere", "with --edit: leave it there")
    .option(
      "--redo <step>",
      "make again what this step is, or what an approval shows, as `revise` of the code changes it by --note",
    )
    .option("--note <text>", "with --edit: why, stored in the journal; with --redo: what should be different")
    .option(
      "--rerun <step>",
      "run this step and all that depend on it again; * matches any characters; repeatable",
      collect,
    )
    .option("--rerun-failed", "rerun every step that failed, wholly or in part, and all that depend on it")
    .option("--same-seed", "rerun even what the seed in the code makes the same")
    .option("--account-moved", "the account has a new key, or the service a new address; checked by a job of the run")
    .option("--request-id <id>", "idempotency id of a rerun: repeating it does not start another one")
    .action(act(async () => (await import("../commands/resume.ts")).resume));
  withTables(withPlanning(withRateLimit(withNotify(withWaitForCap(withSpending(resume))))));
  withService(program.command("adopt <run-id> [step] [job-id]"))
    .description(
      "say which job an unanswered submit created, or which file a provider made, or none; without a job, list the candidates; without a step, ask for each",
    )
    .action(act(async () => (await import("../commands/adopt.ts")).adopt));
  withService(program.command("approve [run-id] [step]"))
    .description("approve a waiting step; without a step, list those that wait, without a run, those of all runs")
    .option("--pick <n>", "the one chosen, where the step asks for a choice: its number, from 1, or its step")
    .option("--value <text>", "approve this in place of the text or value shown; @file reads it (.json as JSON)")
    .option("--note <text>", "stored in the journal with the decision")
    .option("--resume", "resume the run at once, when no process drives it")
    .action(act(async () => (await import("../commands/decide.ts")).approve));
  withService(program.command("reject <run-id> <step>"))
    .description("reject a step that waits for a person: it fails, and what uses it is skipped")
    .option("--note <text>", "stored in the journal with the decision")
    .option("--resume", "resume the run at once, when no process drives it")
    .action(act(async () => (await import("../commands/decide.ts")).reject));
  withService(program.command("review-link [run-id] [step]"))
    .description("make a link on which a client decides what waits in some runs, and sees nothing else")
    .option("--tag <key=value>", "runs with this tag; repeatable: with all of them", collect)
    .option("--expires <duration>", "how long it is valid, up to 90d (default: 7d)")
    .option("--max-uses <n>", "decisions and comments that it takes in all (default: 500)")
    .option("--public-url <url>", "the address that clients reach (default: SHOWRUNNER_PUBLIC_URL, then this machine)")
    .option("--list", "list the links of the journal instead")
    .option("--revoke <id>", "end one instead")
    .action(act(async () => (await import("../commands/review-link.ts")).reviewLink));
  withService(program.command("stop <run-id>"))
    .description("let a run submit nothing more, wherever it runs")
    .action(act(async () => (await import("../commands/resume.ts")).stop));
}

/** Commands that read what ran. */
export function addInspecting(program: Command, act: Act): void {
  withPlanning(withService(program.command("check <files...>")))
    .description("say what these pipelines would make again, or otherwise, of runs that are under way; spends nothing")
    .requiredOption("--against <journal>", "the journal of those runs, or a copy of it; nothing is written to it")
    .action(act(async () => (await import("../commands/check.ts")).check));
  withService(program.command("runs"))
    .description("list the runs of the journal")
    .option("--tag <key=value>", "only runs with this tag; repeatable: with all of them", collect)
    .option("--search <words>", "only runs whose name, tags or input hold all these words")
    .action(act(async () => (await import("../commands/runs.ts")).runs));
  withService(program.command("show <run-id>"))
    .description("show one run: steps, jobs, costs, files")
    .action(act(async () => (await import("../commands/show.ts")).show));
  withService(program.command("open <run-id> <step>"))
    .description("open the files of a step, or what an approval shows; prints their paths too")
    .option("--print", "only print the paths")
    .action(act(async () => (await import("../commands/open.ts")).open));
  withService(program.command("report <run-id>"))
    .description("write what happened into one HTML file, with the media in it")
    .option(
      "--out <file.html>",
      "where to write it (default: report.html in the run's folder, where that lies below this one)",
    )
    .addOption(new Option("--for <whom>", "what it returned, without steps, texts and costs").choices(["client"]))
    .option("--prices", "with --for client: with what it cost, to the cent")
    .action(act(async () => (await import("../commands/report.ts")).report));
  withService(program.command("export <run-id>"))
    .description(
      "write a run's clips, takes, sounds and captions as a timeline for editing programs, its media beside it",
    )
    .option("--otio <file>", "OpenTimelineIO, which most editing programs open")
    .option("--of <name>", "which of the returned results (default: the first film)")
    .action(act(async () => (await import("../commands/export.ts")).exportRun));
  withService(program.command("statement"))
    .description("list what the runs of a client made and cost within a month")
    .option("--tag <key=value>", "only runs with this tag; repeatable: with all of them", collect)
    .option("--month <yyyy-mm>", "by the day of the charge, UTC (default: this month)")
    .option("--markup <percent>", "added to what they cost: 20%")
    .option("--csv", "for spreadsheets")
    .option("--html", "a page for the client, without what the runs cost where --markup is given")
    .action(act(async () => (await import("../commands/statement.ts")).statement));
  withService(program.command("events <run-id>"))
    .description("print what happened to a run")
    .option("--follow", "keep printing until the run ends or pauses")
    .action(act(async () => (await import("../commands/events.ts")).events));
  withService(program.command("reconcile [run-id]"))
    .description("list where the journal and the service differ: unknown jobs, unclaimed outputs, missing refunds")
    .action(act(async () => (await import("../commands/reconcile.ts")).reconcile));
  program
    .command("marks <files...>")
    .description("say what files state of how they came about: source type, content credentials, manifest beside them")
    .option("--trust <file>", "certificates of signers that you trust, PEM")
    .option("--json", "one JSON document")
    .action(act(async () => (await import("../commands/marks.ts")).marks));
  program
    .command("sign <files...>")
    .description(
      "sign copies of files with content credentials (C2PA): source type, models, and what they were made from",
    )
    .option("--cert <file>", "your certificate and those that lead to its root, PEM")
    .option("--key <file>", "its private key, PEM")
    .option("--out <path>", "signed file, or a folder that is there (default: NAME.signed.EXT beside each)")
    .addOption(
      new Option("--source-type <type>", "how a file without manifest and mark was made").choices([
        "trainedAlgorithmicMedia",
        "compositeWithTrainedAlgorithmicMedia",
      ]),
    )
    .option("--json", "one JSON document")
    .action(act(async () => (await import("../commands/sign.ts")).sign));
  withService(program.command("gc"))
    .description("remove old finished runs, the media that no run names any more, and what killed processes left")
    .option("--older-than <duration>", "how long ago a run must have ended", "30d")
    .option("--dry-run", "only list what would be removed")
    .action(act(async () => (await import("../commands/gc.ts")).gc));
  withService(program.command("balance"))
    .description("show what is in the wallet, and what the runs of the journal spent and reserved")
    .action(act(async () => (await import("../commands/balance.ts")).balance));
  withService(program.command("doctor"))
    .description("check Node, settings, journal, media, disk space, service, clock and webhooks")
    .option("--webhook-url <url>", "a public address that should lead to this machine")
    .option("--webhook-port <port>", "the port on this machine that it leads to; listened on for a moment")
    .action(act(async () => (await import("../commands/doctor.ts")).doctor));
}
