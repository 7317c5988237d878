import { showrunner } from "../../../../lib/showrunner.ts";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

/** `GET /api/films/{run}`: the progress of an order. Next passes the path parameters as a promise. */
export async function GET(
  _request: Request,
  { params }: { readonly params: Promise<{ readonly run: string }> },
): Promise<Response> {
  const { run } = await params;
  const show = await showrunner();
  // Shows only orders, because callers must not see other runs in the journal.
  const report = run.startsWith("film-") ? await show.show(run).catch(() => null) : null;
  if (report === null) return Response.json({ error: "no such order" }, { status: 404 });
  const { status, message, cost, steps } = report;
  const done = steps.filter(({ finished_at: finishedAt }) => finishedAt !== null).length;
  return Response.json({ run, status, message, usd: cost, steps: { done, of: steps.length } });
}
