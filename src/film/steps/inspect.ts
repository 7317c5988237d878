import type { Inspector, Media, MediaKind } from "../../define/index.ts";
import { scorerOf } from "../../define/steps/accept.ts";
import type { ChooseMethod, Chosen } from "../../define/steps/choose.ts";
import { type Checks, checkChecks } from "../checks/checks.ts";
import { findFlaws } from "../checks/find-flaws.ts";
import { ffmpegWith } from "../ffmpeg/requirement.ts";

/**
 * What `accept` of a job takes: `job("film", model, input, { accept: inspector({ notBlack: true, seconds: [4, 6] }) })`.
 * @throws FilmError for what is no check
 */
export function inspector(checks: Checks): Inspector {
  checkChecks(checks);
  const { judge, version, ...looked } = checks;
  const asked = { ...looked, ...(judge !== undefined && { judge: version ?? "1" }) };
  return Object.assign((made: Parameters<Inspector>[0]) => findFlaws(made, checks), {
    version: JSON.stringify(asked),
    requires: ffmpegWith("checks"),
  });
}

/**
 * A step that looks at a film, a picture or a sound, and stands for it: what uses it begins once it was found right. A flaw
 * fails the step, which says what it is. `choose` is the method of `build`.
 */
export function inspect<H extends Media<MediaKind>>(
  choose: ChooseMethod,
  name: string,
  media: H,
  checks: Checks,
): Chosen<H> {
  const looking = inspector(checks);
  const { version, requires } = looking;
  return choose(name, [media], { by: scorerOf(looking), version, requires });
}
