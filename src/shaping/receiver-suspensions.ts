/**
 * What receivers' replies stopped, by a rule of the shaping file, until a time. Kept in PostgreSQL, so that it outlives every process and
 * Redis; processes keep a copy, told by Redis at once and refreshed every few seconds. Mail that waits for one is not tried and nothing is
 * counted. Two processes that are refused at once store it once: the later end stays.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { createLooks } from '#src/concurrency/coalesced-refresh.ts'
import { SHAPING_CHANNEL } from '#src/queue/keys.ts'
import { sql } from '#src/stores/sql.ts'
import { EVERYWHERE } from './throttle-key.ts'

const LOOK_MS = 5000
const RETRY_MS = 1000
const MOST_REPLY = 500

export interface ReceiverSuspension {
  readonly pace: string
  readonly source: string
  /** Null = all. */
  readonly workspaceId: string | null
  readonly rule: string
  readonly reply: string
  readonly until: Date
  readonly createdAt: Date
}

const COLUMNS = 'pace, source, workspace_id AS "workspaceId", rule, reply, until, created_at AS "createdAt"'

/** The reason of a recipient that waits because its workspace's mail is stopped at its receiver; explanations know it by that. */
export function workspaceStopText({ pace }: Pick<ReceiverSuspension, 'pace'>): string {
  return `its receiver (${pace}) takes no mail of its workspace now`
}

/** Those that hold at `now`, the first to end first. */
export async function listReceiverSuspensions(db: Queryable, now: Date): Promise<ReceiverSuspension[]> {
  return (
    await db.query<ReceiverSuspension>(`SELECT ${COLUMNS} FROM receiver_suspensions WHERE until > $1 ORDER BY until`, [
      now,
    ])
  ).rows
}

async function suspendReceiver(
  ctx: Pick<Context, 'db' | 'redis'>,
  order: Omit<ReceiverSuspension, 'createdAt'>,
): Promise<void> {
  await ctx.db.query(
    sql`
      INSERT INTO receiver_suspensions (id, pace, source, workspace_id, rule, reply, until)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT ON CONSTRAINT receiver_suspensions_once
      DO UPDATE SET rule = excluded.rule, reply = excluded.reply, until = excluded.until
      WHERE receiver_suspensions.until < excluded.until
    `,
    [newId(), order.pace, order.source, order.workspaceId, order.rule, order.reply.slice(0, MOST_REPLY), order.until],
  )
  await announce(ctx)
}

/** Ends those of a pace, or of a receiver with all of its sites, before their time; answers how many. */
export async function resumeReceiver(ctx: Pick<Context, 'db' | 'redis'>, pace: string): Promise<number> {
  const { rowCount } = await ctx.db.query(
    `DELETE FROM receiver_suspensions WHERE (pace = $1 OR starts_with(pace, $1 || '/')) AND until > now()`,
    [pace],
  )
  if (rowCount !== 0) await announce(ctx)
  return rowCount ?? 0
}

function announce({ redis }: Pick<Context, 'redis'>): Promise<unknown> {
  return redis.publish(SHAPING_CHANNEL, '').catch(() => undefined)
}

export interface ReceiverSuspensionWatch {
  /** What stops this mail now. Null for `workspaceId` asks for what stops all of them. A workspace is stopped whatever the source. */
  find(pace: string, source: string, workspaceId: string | null): ReceiverSuspension | null
  /** Holds at once, and is stored as soon as that can be done. */
  add(suspension: ReceiverSuspension): void
  /** Never rejects: what was known before then holds until the next look. */
  refresh(): Promise<void>
  stop(): void
}

/** `onChange` is called after each later look that brought something else. @throws when PostgreSQL is away at the start. */
export async function watchReceiverSuspensions(ctx: Context, onChange: () => void): Promise<ReceiverSuspensionWatch> {
  const unstored = new Map<string, ReceiverSuspension>()
  const look = async (): Promise<Map<string, ReceiverSuspension>> => {
    // of before the question: what is stored while it is asked may be in neither
    const mine = [...unstored]
    const stored = await listReceiverSuspensions(ctx.db, new Date(ctx.clock.now()))
    return new Map([...stored.map((one) => [nameOf(one), one] as const), ...mine, ...unstored])
  }
  let known = await look()
  const looks = createLooks(
    async () => {
      const found = await look()
      const isOther =
        found.size !== known.size ||
        [...found].some(([name, one]) => known.get(name)?.until.getTime() !== one.until.getTime())
      known = found
      if (isOther) onChange()
    },
    (error) => ctx.log.debug({ err: error }, 'suspensions of receivers could not be read'),
  )
  const timer = setInterval(() => void looks.again(), LOOK_MS)
  return {
    find: (pace, source, workspaceId) => {
      if (known.size === 0) return null
      const ofWorkspace = workspaceId === null ? [] : ([[pace, EVERYWHERE, workspaceId]] as const)
      const places = [[pace, source, null], [EVERYWHERE, source, null], ...ofWorkspace] as const
      const found = places.map(([key, by, owner]) => known.get(nameOf({ pace: key, source: by, workspaceId: owner })))
      return found.find((one) => one !== undefined && one.until.getTime() > ctx.clock.now()) ?? null
    },
    add: (suspension) => {
      known.set(nameOf(suspension), suspension)
      unstored.set(nameOf(suspension), suspension)
      onChange()
      void store(ctx, suspension).then(() => unstored.delete(nameOf(suspension)))
    },
    refresh: () => looks.again(),
    stop: () => clearInterval(timer),
  }
}

async function store(ctx: Context, suspension: ReceiverSuspension): Promise<void> {
  while (ctx.clock.now() < suspension.until.getTime()) {
    try {
      return await suspendReceiver(ctx, suspension)
    } catch (error) {
      ctx.log.debug({ err: error }, 'a suspension could not be stored; tried again')
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS).unref()
      })
    }
  }
}

function nameOf({ pace, source, workspaceId }: Pick<ReceiverSuspension, 'pace' | 'source' | 'workspaceId'>): string {
  return JSON.stringify([pace, source, workspaceId])
}
