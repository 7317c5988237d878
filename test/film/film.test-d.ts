import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import {
  type Checks,
  caption,
  inspect,
  inspector,
  join,
  mix,
  named,
  reframe,
  thumbnail,
} from "../../src/film/index.ts";
import { type Media, type OutputHandle, pipeline } from "../../src/index.ts";

test("a wrong kind of media does not compile, and what is made goes on into jobs and other steps", () => {
  pipeline("typed", {
    input: z.object({}),
    build({ job, task, chat, choose }) {
      const picture = job("picture", models.image, { prompt: "x" });
      const clipInput = { prompt: "x", start_image: picture, aspect_ratio: "16:9", duration_ms: 3000 } as const;
      const clip = job("clip", models.video, clipInput);
      const speech = job("speech", models.speech, { text: "x", voice_id: "v" });
      const cut = join(task, "cut", [clip, clip], { size: "1080p", fit: "blur", fade: 0.3 });
      expectTypeOf(cut).toExtend<Media<"video">>();
      const scored = mix(task, "scored", cut, { voice: speech });
      const { film, srt } = caption(task, "said", scored, {
        lines: [{ text: "x", voice: speech, at: scored.value.at("voices").at(0) }],
      });
      expectTypeOf(film).toEqualTypeOf<OutputHandle<"video">>();
      expectTypeOf(srt).toEqualTypeOf<OutputHandle<"text">>();
      const formats = reframe(task, "formats", film, { to: ["9:16", "1:1"] });
      expectTypeOf(formats["9:16"]).toExtend<Media<"video">>();
      // @ts-expect-error a format that was not asked for
      formats["4:5"];
      job("poster", models.image, { prompt: "x", images: [thumbnail(task, "thumb", film)] });
      // @ts-expect-error a picture where a clip goes
      join(task, "a", [picture]);
      // @ts-expect-error a clip where a voice goes
      mix(task, "b", cut, { voice: clip });
      // @ts-expect-error no such fit
      join(task, "c", [clip], { fit: "stretch" });
      // @ts-expect-error text where a clip goes
      join(task, "d", [srt]);
      const judge = { model: "chat-1", asks: "It is whole." };
      expectTypeOf(inspect({ task, chat, choose }, "ok", clip, { judge })).toExtend<Media<"video">>();
      expectTypeOf(job("kept", models.image, { prompt: "x" }, { accept: inspector({ judge }) })).toExtend<
        Media<"image">
      >();
      // @ts-expect-error a judge hears nothing
      inspect({ task, chat, choose }, "heard", speech, { judge });
      // @ts-expect-error a chat as judge is steps
      inspect(choose, "alone", clip, { judge });
      const heard = inspector({ notSilent: true, speech: true, seconds: [1, 2] });
      const seen = inspector({
        notBlack: 0.2,
        size: "1080x1920",
        judge: (frames) => (frames.length === 3 ? null : "few"),
      });
      expectTypeOf(inspect(choose, "loud", speech, { notSilent: true })).toExtend<Media<"audio">>();
      expectTypeOf(job("said", models.speech, { text: "x", voice_id: "v" }, { accept: heard })).toExtend<
        Media<"audio">
      >();
      job("seen", models.image, { prompt: "x" }, { accept: seen });
      job("both", models.video, clipInput, { accept: heard });
      job("all", models.video, clipInput, {
        accept: inspector({ notBlack: true, notFrozen: 3, notSilent: true, judge }),
      });
      job(
        "own",
        models.image,
        { prompt: "x" },
        { accept: ({ path }) => (path === "" ? "empty" : null), acceptAttempts: 2 },
      );
      const own = job(
        "own2",
        models.image,
        { prompt: "x" },
        { accept: (made) => (made.sizeBytes > 9 ? null : "empty") },
      );
      // @ts-expect-error what was accepted is one output
      own.outputs();
      job("plain", models.image, { prompt: "x" }, { maxCost: "1" }).outputs();
      job("untyped", "image-1", { prompt: "x" }, { accept: heard });
      job("unlooked", models.image, { prompt: "x" }, { accept: inspector({ notSilent: false, version: "2" }) });
      const given: Checks = { notSilent: true };
      inspect(choose, "given", picture, given);
      // @ts-expect-error a picture has no sound
      job("mute", models.image, { prompt: "x" }, { accept: heard });
      // @ts-expect-error a picture does not last
      job("brief", models.image, { prompt: "x" }, { accept: inspector({ seconds: [4, 6] }) });
      // @ts-expect-error a picture stands still
      job("still", models.image, { prompt: "x" }, { accept: inspector({ notBlack: true, notFrozen: true }) });
      // @ts-expect-error a sound has no pictures
      job("dark", models.speech, { text: "x", voice_id: "v" }, { accept: inspector({ notBlack: true }) });
      // @ts-expect-error a judge hears nothing
      job("judged", models.speech, { text: "x", voice_id: "v" }, { accept: inspector({ judge }) });
      // @ts-expect-error a function that judges hears nothing
      job("judged2", models.speech, { text: "x", voice_id: "v" }, { accept: seen });
      // @ts-expect-error a picture has no sound
      inspect(choose, "silent", picture, { notBlack: true, notSilent: true });
      // @ts-expect-error a sound has no size
      inspect({ task, chat, choose }, "wide", speech, { size: "640x360" });
      // @ts-expect-error no such check
      inspector({ notBlack: true, notBlak: true });
      // @ts-expect-error no such check
      inspect(choose, "typo", clip, { notSilent: true, notSilnt: true });
      // @ts-expect-error nothing is asked
      inspector({ judge: { model: "chat-1" } });
      chat("looks", "chat-1", { prompt: "x", images: [picture] });
      // @ts-expect-error a clip where pictures go
      chat("films", "chat-1", { prompt: "x", images: [clip] });
      return { ...named("{sku}-{format}", { sku: 7 }, formats), srt };
    },
  });
});
