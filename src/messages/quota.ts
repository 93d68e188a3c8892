/**
 * The monthly quota of a workspace, counted exactly: the counter's row is locked by its own update until the accepting transaction ends,
 * so two processes never both take the last place. Rows are locked in order of workspace, so batches cannot deadlock.
 */
import { prepared, type Queryable } from '#src/db.ts'
import type { Submission } from './submission.ts'

const TAKE = prepared('quota-take', `
INSERT INTO usage AS u (workspace_id, period, used)
SELECT * FROM unnest($1::uuid[], $2::date[], $3::bigint[]) AS i (workspace_id, period, used) ORDER BY workspace_id
ON CONFLICT (workspace_id, period) DO UPDATE SET used = u.used + excluded.used
RETURNING workspace_id, used`)

const GIVE_BACK = prepared('quota-give-back', 'UPDATE usage SET used = used - $3 WHERE workspace_id = $1 AND period = $2')

function periodOf(at: Date): string {
  return `${at.toISOString().slice(0, 7)}-01`
}

function byWorkspace(submissions: readonly Submission[]): Map<string, Submission[]> {
  const groups = new Map<string, Submission[]>()
  for (const submission of submissions) {
    const group = groups.get(submission.workspaceId)
    if (group === undefined) groups.set(submission.workspaceId, [submission])
    else group.push(submission)
  }
  return groups
}

function countRecipients(submissions: readonly Submission[]): number {
  return submissions.reduce((sum, submission) => sum + submission.recipients.length, 0)
}

/** Counts the recipients of a batch against their workspaces' quotas; answers the submissions that do not fit any more. */
export async function takeQuota(tx: Queryable, submissions: readonly Submission[], now: Date): Promise<Set<Submission>> {
  const groups = [...byWorkspace(submissions)]
  const period = periodOf(now)
  const { rows } = await tx.query<{ workspace_id: string; used: number }>(TAKE, [groups.map(([id]) => id), groups.map(() => period), groups.map(([, group]) => countRecipients(group))])
  const refused = new Set<Submission>()
  for (const [workspaceId, group] of groups) {
    const used = rows.find((row) => row.workspace_id === workspaceId)?.used ?? 0
    const tooMany = overflow(group, used)
    if (tooMany.length > 0) await tx.query(GIVE_BACK, [workspaceId, period, countRecipients(tooMany)])
    for (const submission of tooMany) refused.add(submission)
  }
  return refused
}

/** First come, first served: those of a workspace's batch that do not fit, given the counter after all of them were added. */
function overflow(group: readonly Submission[], usedAfter: number): Submission[] {
  let used = usedAfter - countRecipients(group)
  const refused: Submission[] = []
  for (const submission of group) {
    const fits = submission.quota === null || used + submission.recipients.length <= submission.quota
    if (fits) used += submission.recipients.length
    else refused.push(submission)
  }
  return refused
}
