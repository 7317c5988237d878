/** Calls `work` after all earlier calls for the same run have settled. */
export async function inTurn<T>(
  turns: Map<string, Promise<unknown>>,
  runId: string,
  work: () => Promise<T>,
): Promise<T> {
  const before = turns.get(runId) ?? Promise.resolve();
  const own = before.then(work, work);
  turns.set(runId, own);
  try {
    return await own;
  } finally {
    if (turns.get(runId) === own) turns.delete(runId);
  }
}
