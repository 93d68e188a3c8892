/**
 * Pauses an account that can no longer sign in. An event informs the owner; the mail waits, uncounted, with the reason,
 * and is sent when the account is connected again or resumed. The pause is a state of the account; a suspension of its
 * destination keeps its mail from being attempted.
 *
 * The pause names the generation of the rejected credentials, so a response after they were replaced pauses nothing. A
 * crash between the state and the suspension: the next attempt finds the account paused and suspends it again. A crash
 * between the end of the pause and the end of the suspension: the worker calls `resumeForgottenAccounts`.
 */
import type { Context } from '#src/context.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { listSuspensions, resume, suspend } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import type { Account } from './accounts.ts'
import { accountIdOf, destinationOf } from './account-destination.ts'

type PauseDeps = Pick<Context, 'db' | 'redis' | 'clock'>

const PREFIX = 'the connected account is paused: '
const MAX_REASON = 500

/** False when the account is already paused, or its credentials were replaced meanwhile. */
export async function pauseAccount(
  ctx: PauseDeps,
  { id, generation }: Pick<Account, 'id' | 'generation'>,
  why: string,
): Promise<boolean> {
  const now = new Date(ctx.clock.now())
  const reason = removeControls(why)
  const news = await ctx.db.transaction(async (tx) => {
    const {
      rows: [account],
    } = await tx.query<Pick<Account, 'workspaceId' | 'name' | 'username'>>(
      sql`
        UPDATE connected_accounts
        SET state = 'paused', paused_reason = $3, paused_at = $4, updated_at = $4
        WHERE id = $1 AND generation = $2 AND state = 'active'
        RETURNING workspace_id AS "workspaceId", name, username
      `,
      [id, generation, reason, now],
    )
    if (account === undefined) return null
    const data = { account_id: id, name: account.name, username: account.username, reason }
    return raiseEvents(tx, [{ workspaceId: account.workspaceId, type: 'account.paused', recipient: null, data }], now)
  })
  if (news === null) return false
  await suspendAccountMail(ctx, id, reason)
  publishNotifications(ctx, news)
  return true
}

/** Suspends the destination of a paused account. Idempotent. */
export function suspendAccountMail(ctx: Pick<Context, 'db' | 'redis'>, id: string, reason: string): Promise<void> {
  return suspend(ctx, destinationOf(id), PREFIX + reason)
}

/** Ends a pause with the existing credentials. False when the account does not exist. */
export async function resumeAccount(
  ctx: PauseDeps,
  { id, workspaceId }: Pick<Account, 'id' | 'workspaceId'>,
): Promise<boolean> {
  const { rowCount } = await ctx.db.query(
    sql`
      UPDATE connected_accounts
      SET state = 'active', paused_reason = NULL, paused_at = NULL, updated_at = $3
      WHERE id = $1 AND workspace_id = $2
    `,
    [id, workspaceId, new Date(ctx.clock.now())],
  )
  if (rowCount !== 1) return false
  await resume(ctx, destinationOf(id))
  return true
}

/** Ends the suspensions of accounts that are no longer paused, except those by the operator. Returns their number. */
export async function resumeForgottenAccounts(ctx: Pick<Context, 'db' | 'redis'>): Promise<number> {
  const ours = (await listSuspensions(ctx.db))
    .filter(({ reason }) => reason.startsWith(PREFIX))
    .flatMap(({ subject }) => accountIdOf(subject) ?? [])
  if (ours.length === 0) return 0
  const { rows } = await ctx.db.query<{ id: string }>(
    `SELECT id FROM connected_accounts WHERE id = ANY ($1::uuid[]) AND state = 'paused'`,
    [ours],
  )
  const paused = new Set(rows.map(({ id }) => id))
  const forgotten = ours.filter((id) => !paused.has(id))
  for (const id of forgotten) await resume(ctx, destinationOf(id))
  return forgotten.length
}

/** Removes control characters from the text of a server. */
function removeControls(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_REASON)
}
