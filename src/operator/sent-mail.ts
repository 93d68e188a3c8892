/**
 * What the logs of the outbound processes say about mail of the time that a restored database lacks. A line of an
 * attempt names message, sender and recipient, and its text is the transition. From these follow
 *
 * - lost mail: the message is not in the database. It is recorded, so that its sender can be asked for it again;
 * - mail that was sent: it waits in the database, but a receiver accepted it. It is settled, so that it is not sent
 *   again when mail is resumed.
 *
 * A line that is not understood is skipped. Settling checks the state, so repeating it, or two at once, change nothing.
 */
import type { Context } from '#src/context.ts'
import { isUuid, timeOf } from '#src/platform/id.ts'
import { hashAddress } from '#src/platform/log-addresses.ts'
import { isAfter, recordLost, type LostRecipient } from '#src/queue/lost-mail.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import { applyTransitions, type Transition } from '#src/messages/transition.ts'
import type { MoveName } from '#src/messages/state.ts'
import { sql } from '#src/stores/sql.ts'
import type { Queryable } from '#src/stores/db.ts'

/** An attempt that a log names. */
export interface LoggedAttempt {
  readonly messageId: string
  /** The number of the recipient; null if only the address is known. */
  readonly n: number | null
  readonly to: string
  readonly from: string | null
  /** The transition. */
  readonly outcome: string
  readonly at: Date
  readonly source: 'log' | 'journal'
}

/** A recipient that waits although a receiver accepted its message. */
export interface SentRecipient {
  readonly messageId: string
  readonly n: number
  readonly address: string
  readonly outcome: string
  readonly at: Date
}

/** Transitions that end with a message at the receiver, and what settles the recipient. */
const SETTLED_BY: Readonly<Record<string, MoveName>> = {
  deliver: 'deliver_earlier',
  capture: 'deliver_earlier',
  relay: 'relay_earlier',
}
const LOGGED_MOVES = new Set('deliver capture relay bounce defer fail expire suppress mark_unknown release'.split(' '))
const SLICE = 1000

/** Null for a line about something else. */
export function parseLogLine(line: string): LoggedAttempt | null {
  if (!line.startsWith('{')) return null
  try {
    const { id, from, to, msg, time } = JSON.parse(line) as Readonly<Record<string, unknown>>
    if (typeof id !== 'string' || !isUuid(id) || typeof msg !== 'string' || !LOGGED_MOVES.has(msg)) return null
    if (typeof to !== 'string' || to === '') return null
    const at = new Date(typeof time === 'number' || typeof time === 'string' ? time : timeOf(id))
    if (Number.isNaN(at.getTime())) return null
    return { messageId: id, n: null, to, from: typeof from === 'string' ? from : null, outcome: msg, at, source: 'log' }
  } catch {
    return null
  }
}

/** Since when changes are missing; null if the database was not restored, as far as is known. */
export async function readLostSince(db: Queryable): Promise<Date | null> {
  const { rows } = await db.query<{ since: Date | null }>(
    'SELECT coalesce(lost_from, detected_at) AS since FROM restore_fence',
  )
  return rows[0]?.since ?? null
}

export interface LogOrigin {
  /** Since when changes are missing. */
  readonly since: Date
  /** LOG_ADDRESS_KEY of the log: its addresses are hashed. */
  readonly addressKey: string | null
}

/** Records those that are lost; returns those that wait although they were sent. */
export async function compareWithLog(
  db: Queryable,
  attempts: readonly LoggedAttempt[],
  { since, addressKey }: LogOrigin,
): Promise<SentRecipient[]> {
  const sent: SentRecipient[] = []
  for (let at = 0; at < attempts.length; at += SLICE) {
    const slice = attempts.slice(at, at + SLICE)
    await recordLost(db, slice.filter(({ messageId }) => isAfter(messageId, since)).map(lostOf))
    sent.push(...(await findWaiting(db, slice, { since, addressKey })))
  }
  const last = new Map(sent.map((one) => [`${one.messageId} ${one.n}`, one]))
  return [...last.values()]
}

function lostOf({ messageId, to, from, outcome, at, source }: LoggedAttempt): LostRecipient {
  return { messageId, recipient: to, sender: from, outcome, at, source }
}

async function findWaiting(
  db: Queryable,
  attempts: readonly LoggedAttempt[],
  { since, addressKey }: LogOrigin,
): Promise<SentRecipient[]> {
  const accepted = attempts.filter(
    ({ outcome, at }) => SETTLED_BY[outcome] !== undefined && at.getTime() >= since.getTime() - 60_000,
  )
  if (accepted.length === 0) return []
  const byName = new Map(accepted.map((one) => [`${one.messageId} ${one.n ?? one.to.toLowerCase()}`, one]))
  const { rows } = await db.query<{ messageId: string; n: number; address: string }>(
    sql`
      SELECT message_id AS "messageId", n, address
      FROM recipients
      WHERE message_id = ANY ($1::uuid[]) AND is_open
    `,
    [[...new Set(accepted.map(({ messageId }) => messageId))]],
  )
  return rows.flatMap((row) => {
    const { messageId, n, address } = row
    const names = [n, address, ...(addressKey === null ? [] : [hashAddress(addressKey, address)])]
    const found = names.map((name) => byName.get(`${messageId} ${String(name).toLowerCase()}`)).find(Boolean)
    return found === undefined ? [] : [{ ...row, outcome: found.outcome, at: found.at }]
  })
}

/** Settles recipients that were sent. Returns how many of them still waited. */
export async function settleSent(
  ctx: Pick<Context, 'db' | 'redis' | 'clock' | 'log'>,
  sent: readonly SentRecipient[],
): Promise<number> {
  let settled = 0
  for (let at = 0; at < sent.length; at += SLICE) {
    const moves = sent.slice(at, at + SLICE).map(transitionOf)
    const result = await applyTransitions(ctx.db, moves, new Date(ctx.clock.now()))
    publishNotifications(ctx, result)
    settled += result.done.size
  }
  return settled
}

function transitionOf({ messageId, n, outcome, at }: SentRecipient): Transition {
  return {
    messageId,
    n,
    move: SETTLED_BY[outcome] ?? 'deliver_earlier',
    lease: null,
    reason: `accepted by the receiver at ${at.toISOString()}, before the database was restored`,
    dueAt: null,
    isCounted: false,
    attempt: null,
    eventData: null,
  }
}
