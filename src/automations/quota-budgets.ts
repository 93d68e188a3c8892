/**
 * The remaining monthly quota of the workspaces in a slice: read first, counted as messages are decided, and consumed
 * at the end of the transaction. If another transaction consumed it in between, the whole transaction rolls back
 * (`isOverQuota`).
 */
import type { Plans } from '#config/plans.ts'
import type { Queryable } from '#src/stores/db.ts'
import { readRemainingQuota, consumeQuotaSlice } from '#src/messages/quota.ts'

export interface QuotaBudget {
  readonly workspaceId: string
  readonly quota: number | null
  /** Messages; null if unlimited. */
  readonly remaining: number | null
  used: number
}

export type QuotaBudgets = ReadonlyMap<string, QuotaBudget>

/** Reads the budgets of the given workspaces, ordered by id. */
export async function readBudgets(
  tx: Queryable,
  workspaceIds: Iterable<string>,
  { plans, now }: { readonly plans: Plans; readonly now: Date },
): Promise<QuotaBudgets> {
  const ids = [...new Set(workspaceIds)].toSorted((a, b) => (a < b ? -1 : 1))
  const { rows } = await tx.query<{ id: string; plan: string }>(
    'SELECT id, plan FROM workspaces WHERE id = ANY ($1) ORDER BY id',
    [ids],
  )
  const budgets = new Map<string, QuotaBudget>()
  for (const { id, plan } of rows) {
    // an unknown plan name counts as the smallest plan, never as unlimited
    const quota = (plans[plan] ?? plans['free'])?.monthlyQuota ?? null
    budgets.set(id, { workspaceId: id, quota, remaining: await readRemainingQuota(tx, id, quota, now), used: 0 })
  }
  return budgets
}

/** Runs last in a transaction, because other transactions of these workspaces wait for the rows. */
export async function consumeBudgets(tx: Queryable, budgets: QuotaBudgets, now: Date): Promise<void> {
  for (const budget of budgets.values())
    if (budget.used > 0) await consumeQuotaSlice(tx, { ...budget, count: budget.used, now })
}
