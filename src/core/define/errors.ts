import { ShowrunnerError } from "../kit/errors.ts";

/** A handle was used as text or as JSON while the plan was made: its result does not exist yet. */
export class HandleMisuseError extends ShowrunnerError {
  readonly code = "HANDLE_MISUSE";

  constructor(step: string) {
    super(
      `the result of ${step} does not exist while the plan is made, so it cannot become text here; put the tag text ` +
        `before the template (text\`A \${…}\`, import { text } from "showrunner") for a value in a sentence, ` +
        "or pass the handle itself as a field of another step's input",
    );
  }
}

/** `pipeline()` was called with something that is no definition. */
export class PipelineDefinitionError extends ShowrunnerError {
  readonly code = "PIPELINE_DEFINITION";
}

/** `job()` or another builder method was called after `build` had returned. */
export class BuilderClosedError extends ShowrunnerError {
  readonly code = "BUILDER_CLOSED";

  constructor(step: string) {
    super(
      `step ${step} was added after build had returned; add every step within build, which may not be async, ` +
        "and within expand with the builder methods that its function is given",
    );
  }
}

/** `include()` was given no pipeline, or one that includes itself without end. The plan reports it. */
export class IncludeError extends ShowrunnerError {
  readonly code = "INCLUDE";
}
