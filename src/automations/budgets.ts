/**
 * What the workspaces of a slice may still send this month: read first, counted as mails are decided on, and taken at the end of the
 * transaction. Had somebody else taken it by then the whole transaction is given up (`isOverQuota`).
 */
import type { Plans } from '#config/plans.ts'
import type { Queryable } from '#src/stores/db.ts'
import { readRoom, takeSlice } from '#src/messages/quota.ts'

export interface Budget {
  readonly workspaceId: string
  readonly quota: number | null
  /** Mails; null = any number. */
  readonly room: number | null
  used: number
}

export type Budgets = ReadonlyMap<string, Budget>

/** Of the workspaces named, in the order of their ids. */
export async function openBudgets(
  tx: Queryable,
  workspaceIds: Iterable<string>,
  { plans, now }: { readonly plans: Plans; readonly now: Date },
): Promise<Budgets> {
  const ids = [...new Set(workspaceIds)].toSorted((a, b) => (a < b ? -1 : 1))
  const { rows } = await tx.query<{ id: string; plan: string }>(
    'SELECT id, plan FROM workspaces WHERE id = ANY ($1) ORDER BY id',
    [ids],
  )
  const budgets = new Map<string, Budget>()
  for (const { id, plan } of rows) {
    // a name that the configuration no longer knows is the smallest plan, never an unlimited one
    const quota = (plans[plan] ?? plans['free'])?.monthlyQuota ?? null
    budgets.set(id, { workspaceId: id, quota, room: await readRoom(tx, id, quota, now), used: 0 })
  }
  return budgets
}

/** Last in a transaction, because other mail of these workspaces waits for the rows. */
export async function takeBudgets(tx: Queryable, budgets: Budgets, now: Date): Promise<void> {
  for (const budget of budgets.values())
    if (budget.used > 0) await takeSlice(tx, { ...budget, wanted: budget.used, now })
}
