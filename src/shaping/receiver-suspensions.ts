/**
 * Suspensions that rules of the shaping file start after a receiver's reply, each until a time. Stored in PostgreSQL,
 * so they survive every process and Redis. Processes cache them; Redis announces changes, and each process reloads them
 * every few seconds. Suspended mail is not attempted, and no attempt is counted. If two processes start the same
 * suspension, it is stored once with the later end.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { createCoalescedRefresh } from '#src/concurrency/coalesced-refresh.ts'
import { SHAPING_CHANNEL } from '#src/queue/keys.ts'
import { sql } from '#src/stores/sql.ts'
import type { ShapingReceiver } from './shaping-file.ts'
import { throttleKeyOf, throttleSourceOf, WILDCARD } from './throttle-key.ts'

const REFRESH_MS = 5000
const RETRY_MS = 1000
const MAX_REPLY_LENGTH = 500

export interface ReceiverSuspension {
  /** Key of the throttle; WILDCARD: all throttles of the source. */
  readonly pace: string
  readonly source: string
  /** Null = all workspaces. */
  readonly workspaceId: string | null
  readonly rule: string
  readonly reply: string
  readonly until: Date
  readonly createdAt: Date
}

/** A site and the receiver whose limits apply to it. */
export interface SiteReceiver {
  readonly site: string
  readonly receiver: ShapingReceiver
}

const COLUMNS = 'pace, source, workspace_id AS "workspaceId", rule, reply, until, created_at AS "createdAt"'

/**
 * The stored reason of a recipient that waits because its workspace is suspended at the receiver; explanations
 * recognise it by that.
 */
export function workspaceSuspensionReason({ pace }: Pick<ReceiverSuspension, 'pace'>): string {
  return `its receiver (${pace}) accepts no mail from its workspace now`
}

/** Suspensions in force at `now`, the first to end first. */
export async function listReceiverSuspensions(db: Queryable, now: Date): Promise<ReceiverSuspension[]> {
  return (
    await db.query<ReceiverSuspension>(`SELECT ${COLUMNS} FROM receiver_suspensions WHERE until > $1 ORDER BY until`, [
      now,
    ])
  ).rows
}

async function suspendReceiver(
  ctx: Pick<Context, 'db' | 'redis'>,
  suspension: Omit<ReceiverSuspension, 'createdAt'>,
): Promise<void> {
  await ctx.db.query(
    sql`
      INSERT INTO receiver_suspensions (id, pace, source, workspace_id, rule, reply, until)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT ON CONSTRAINT receiver_suspensions_once
      DO UPDATE SET rule = excluded.rule, reply = excluded.reply, until = excluded.until
      WHERE receiver_suspensions.until < excluded.until
    `,
    [
      newId(),
      suspension.pace,
      suspension.source,
      suspension.workspaceId,
      suspension.rule,
      suspension.reply.slice(0, MAX_REPLY_LENGTH),
      suspension.until,
    ],
  )
  await notifyProcesses(ctx)
}

/** Ends the suspensions of a throttle, or of a receiver with all its sites. Returns their number. */
export async function resumeReceiver(ctx: Pick<Context, 'db' | 'redis'>, pace: string): Promise<number> {
  const { rowCount } = await ctx.db.query(
    `DELETE FROM receiver_suspensions WHERE (pace = $1 OR starts_with(pace, $1 || '/')) AND until > now()`,
    [pace],
  )
  if (rowCount !== 0) await notifyProcesses(ctx)
  return rowCount ?? 0
}

function notifyProcesses({ redis }: Pick<Context, 'redis'>): Promise<unknown> {
  return redis.publish(SHAPING_CHANNEL, '').catch(() => undefined)
}

export interface ReceiverSuspensionWatch {
  /**
   * The suspension that stops this mail now. `workspaceId` null finds what stops all workspaces. A workspace is
   * suspended for all sources.
   */
  find(pace: string, source: string, workspaceId: string | null): ReceiverSuspension | null
  /** The suspension that stops all mail to a site from this source; null: the system chooses the address. */
  findForSource(site: SiteReceiver, source: string | null): ReceiverSuspension | null
  /** The suspension by which the receiver of a site stops the mail of this workspace, from whatever source. */
  findForWorkspace(site: SiteReceiver, workspaceId: string): ReceiverSuspension | null
  /** Takes effect at once, and is stored as soon as PostgreSQL is available. */
  add(suspension: ReceiverSuspension): void
  /** Reloads from PostgreSQL. Never rejects: after a failure the cached suspensions stay in force. */
  refresh(): Promise<void>
  stop(): void
}

/** `onChange` is called after each reload that changed something. @throws if PostgreSQL is unavailable at the start. */
export async function watchReceiverSuspensions(ctx: Context, onChange: () => void): Promise<ReceiverSuspensionWatch> {
  const unstored = new Map<string, ReceiverSuspension>()
  const load = async (): Promise<Map<string, ReceiverSuspension>> => {
    // copied before the query: a suspension stored during the query may be missing from its result
    const pending = [...unstored]
    const stored = await listReceiverSuspensions(ctx.db, new Date(ctx.clock.now()))
    return new Map([...stored.map((one) => [keyOf(one), one] as const), ...pending, ...unstored])
  }
  let known = await load()
  const refresher = createCoalescedRefresh(
    async () => {
      const found = await load()
      const hasChanged =
        found.size !== known.size ||
        [...found].some(([name, one]) => known.get(name)?.until.getTime() !== one.until.getTime())
      known = found
      if (hasChanged) onChange()
    },
    (error) => ctx.log.debug({ err: error }, 'failed to load receiver suspensions; the cached ones stay in force'),
  )
  const timer = setInterval(() => void refresher.refresh(), REFRESH_MS)
  const find: ReceiverSuspensionWatch['find'] = (pace, source, workspaceId) => {
    if (known.size === 0) return null
    const ofWorkspace = workspaceId === null ? [] : ([[pace, WILDCARD, workspaceId]] as const)
    const keys = [[pace, source, null], [WILDCARD, source, null], ...ofWorkspace] as const
    const found = keys.map(([key, by, owner]) => known.get(keyOf({ pace: key, source: by, workspaceId: owner })))
    return found.find((one) => one !== undefined && one.until.getTime() > ctx.clock.now()) ?? null
  }
  return {
    find,
    findForSource: ({ site, receiver }, source) => {
      const key = throttleKeyOf(receiver, site)
      const found = find(key, throttleSourceOf(receiver, source), null)
      // even where a receiver counts all sources together, a rule may have suspended one source everywhere
      return found !== null || source === null || !receiver.isForAllSources ? found : find(key, source, null)
    },
    findForWorkspace: ({ site, receiver }, workspaceId) => {
      const found = find(throttleKeyOf(receiver, site), throttleSourceOf(receiver, WILDCARD), workspaceId)
      return found === null || found.workspaceId === null ? null : found
    },
    add: (suspension) => {
      known.set(keyOf(suspension), suspension)
      unstored.set(keyOf(suspension), suspension)
      onChange()
      void storeWithRetry(ctx, suspension).then(() => unstored.delete(keyOf(suspension)))
    },
    refresh: () => refresher.refresh(),
    stop: () => clearInterval(timer),
  }
}

async function storeWithRetry(ctx: Context, suspension: ReceiverSuspension): Promise<void> {
  while (ctx.clock.now() < suspension.until.getTime()) {
    try {
      return await suspendReceiver(ctx, suspension)
    } catch (error) {
      ctx.log.debug({ err: error }, 'failed to store a receiver suspension; retrying')
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS).unref()
      })
    }
  }
}

function keyOf({ pace, source, workspaceId }: Pick<ReceiverSuspension, 'pace' | 'source' | 'workspaceId'>): string {
  return JSON.stringify([pace, source, workspaceId])
}
