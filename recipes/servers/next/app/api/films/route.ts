import { OverBudgetError, PlanProblemsError } from "showrunner";
import { z } from "zod";
import film from "../../../../../image-to-video.ts";
import { showrunner } from "../../../lib/showrunner.ts";

/** Runs continue after the response, so they need a long-running server, not the edge or a function that gets frozen. */
export const runtime = "nodejs";
export const dynamic = "force-dynamic";

const BUDGET = "1.00";
const order = z.strictObject({ id: z.string().regex(/^[a-z0-9-]{1,60}$/), subject: z.string().min(1).max(500) });

/** `POST /api/films`: orders a film. A repeated request with the same id and subject is never paid for twice. */
export async function POST(request: Request): Promise<Response> {
  const given = order.safeParse(await request.json().catch(() => null));
  if (!given.success) return Response.json({ error: z.prettifyError(given.error) }, { status: 400 });
  const { id, subject } = given.data;
  const show = await showrunner();
  try {
    const run = await show.run(film, { scene: subject }, { id: `film-${id}`, budget: BUDGET });
    run.result().catch((error: unknown) => console.error(`film-${id}`, error));
    return Response.json({ id, status: "running" }, { status: 202, headers: { Location: `/api/films/film-${id}` } });
  } catch (error) {
    if (error instanceof PlanProblemsError) return Response.json({ error: error.message }, { status: 422 });
    if (error instanceof OverBudgetError) return Response.json({ error: error.message }, { status: 402 });
    if ((error as { readonly code?: string }).code === "RUN_DIFFERS")
      return Response.json({ error: "this id belongs to another order" }, { status: 409 });
    throw error;
  }
}
