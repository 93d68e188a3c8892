/**
 * Queue of received opens and clicks in PostgreSQL. Hits wait there some seconds until they are classified
 * (hit-recorder.ts); hit-spool.ts batches them on the way. Per recipient and process only a limited number is stored in
 * a minute; further requests are answered and not stored.
 */
import { binaryColumnsOf, type BinaryColumn } from '#src/stores/binary-columns.ts'
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { createHitSpool, SPOOL_LIMITS, type HitFate } from './hit-spool.ts'
import type { HitRef } from './tokens.ts'

export interface ReceivedHit extends Pick<HitRef, 'messageId' | 'n'> {
  /** Null: the open pixel. */
  readonly url: string | null
  readonly address: string
  readonly userAgent: string
  readonly machine: string | null
}

export interface HitQueue {
  /** Resolves when the request may be answered: the hit is committed, over the limit, or cannot be stored. */
  add(hit: ReceivedHit): Promise<void>
  /** `surplus`: over the limit of its recipient. */
  readonly counts: Readonly<Record<HitFate | 'surplus', number>>
  drain(): Promise<void>
}

const MAX_IN_WINDOW = 60
const WINDOW_MS = 60_000
const MAX_AGENT = 500

interface TimedHit {
  readonly hit: ReceivedHit
  readonly at: Date
}

const INSERT = prepared(
  'tracking-hits-take',
  sql`
    INSERT INTO tracking_hits (at, message_id, n, url, address, user_agent, machine)
    SELECT *
    FROM unnest($1::timestamptz[], $2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[])
  `,
)
const COLUMNS: readonly BinaryColumn<TimedHit>[] = [
  ['timestamptz', ({ at }) => at],
  ['uuid', ({ hit }) => hit.messageId],
  ['smallint', ({ hit }) => hit.n],
  ['text', ({ hit }) => hit.url],
  ['text', ({ hit }) => hit.address],
  ['text', ({ hit }) => cleanText(hit.userAgent)],
  ['text', ({ hit }) => hit.machine],
]

const CONTROL_CHARACTER = /\p{Cc}|\p{Cs}/u

/** Replaces control characters: PostgreSQL accepts no NUL in text. */
function cleanText(text: string): string {
  const cut = text.length > MAX_AGENT ? text.slice(0, MAX_AGENT) : text
  return CONTROL_CHARACTER.test(cut) ? cut.replaceAll(new RegExp(CONTROL_CHARACTER, 'gu'), '?') : cut
}

export function createHitQueue(ctx: Pick<Context, 'db' | 'clock' | 'log'>, bounds = SPOOL_LIMITS): HitQueue {
  const spool = createHitSpool<TimedHit>(
    async (batch) => {
      await ctx.db.query(INSERT, binaryColumnsOf(batch, COLUMNS))
    },
    ctx.log,
    bounds,
  )
  const isOverLimit = createHitLimiter(ctx)
  let surplus = 0
  return {
    add: async (hit) => {
      if (isOverLimit(hit)) surplus++
      else await spool.add({ hit, at: new Date(ctx.clock.now()) })
    },
    get counts() {
      return { ...spool.counts, surplus }
    },
    drain: () => spool.drain(),
  }
}

const BUCKETS = 1 << 20

/**
 * Counts in a table of fixed size, so a hit needs no memory. A recipient has one bucket; one in a million shares it
 * with another and is counted with it.
 */
function createHitLimiter({ clock }: Pick<Context, 'clock'>): (ref: ReceivedHit) => boolean {
  const counts = new Uint8Array(BUCKETS)
  let endMs = 0
  return (ref) => {
    const now = clock.now()
    if (now >= endMs || now < endMs - WINDOW_MS) {
      counts.fill(0)
      endMs = now + WINDOW_MS
    }
    const bucket = bucketOf(ref)
    const count = counts[bucket] ?? 0
    if (count >= MAX_IN_WINDOW) return true
    counts[bucket] = count + 1
    return false
  }
}

/** The last digits of a message id are random. */
function bucketOf({ messageId, n }: ReceivedHit): number {
  return (Number.parseInt(messageId.slice(-5), 16) + n) % BUCKETS
}
