import { badRequest, notFound, optionalText, textField, textList } from "../../served/index.ts";
import type { Call, Route } from "../http/route.ts";
import type { DashboardContext } from "../options.ts";
import { createReviewLink, reviewLinkUrl, reviewLinkView } from "./review-link.ts";

export function operatorLinkRoutes({ journal }: DashboardContext, publicUrl: string | null): readonly Route[] {
  const create = async ({ json, incoming }: Call) => {
    const body = await json();
    const given = textList(body, "tags").map((text) => [text.split("=", 1)[0]!, text.slice(text.indexOf("=") + 1)]);
    const runId = optionalText(body, "run", 200);
    const step = optionalText(body, "step", 500);
    const scope = {
      ...(given.length > 0 && { tags: Object.fromEntries(given) }),
      ...(runId && { runId }),
      ...(step && { step }),
    };
    const { expiresMs } = body;
    if (expiresMs !== undefined && typeof expiresMs !== "number") throw badRequest("`expiresMs` must be a number.");
    const now = Date.now();
    const { link, token } = await createReviewLink(journal, { scope, expiresMs }, now);
    const url = reviewLinkUrl(publicUrl ?? `http://${incoming.headers.host}`, token);
    return { ...reviewLinkView(link, now), url };
  };

  const list = async () => {
    const now = Date.now();
    return (await journal.reviewLinks()).map((link) => reviewLinkView(link, now));
  };

  const revoke = async ({ json }: Call) => {
    const id = textField(await json(), "id");
    await journal.revokeReviewLink(id, Date.now());
    const link = await journal.reviewLink(id);
    if (link === null) throw notFound("This link");
    return reviewLinkView(link, Date.now());
  };

  return [
    { method: "GET", path: "/api/review-links", handle: list },
    { method: "POST", path: "/api/review-links", handle: create },
    { method: "POST", path: "/api/review-links/revoke", handle: revoke },
  ];
}
