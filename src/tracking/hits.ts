/**
 * Takes opens and clicks: what is stored here waits some seconds to be judged and told (hit-recorder.ts), and how it gets there is the spool's
 * business (hit-spool.ts). Of one recipient so many are stored in a minute by one process; those beyond are answered like the others, and are
 * nothing.
 */
import { binaryColumnsOf, type Column } from '#src/stores/binary-columns.ts'
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { createSpool, SPOOL_BOUNDS, type Fate } from './hit-spool.ts'
import type { HitRef } from './tokens.ts'

export interface TakenHit extends HitRef {
  /** Null: the open pixel. */
  readonly url: string | null
  readonly address: string
  readonly userAgent: string
  readonly machine: string | null
}

export interface Hits {
  /** Resolves when it may be answered: it is committed, or need not be, or cannot be. */
  take(hit: TakenHit): Promise<void>
  /** `surplus`: one too many of its recipient. */
  readonly counts: Readonly<Record<Fate | 'surplus', number>>
  drain(): Promise<void>
}

const MOST_IN_A_WINDOW = 60
const WINDOW_MS = 60_000
const MAX_AGENT = 500

interface Stamped {
  readonly hit: TakenHit
  readonly at: Date
}

const TAKE = prepared(
  'tracking-hits-take',
  sql`
    INSERT INTO tracking_hits (at, message_id, n, url, address, user_agent, machine)
    SELECT *
    FROM unnest($1::timestamptz[], $2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[])
  `,
)
const COLUMNS: readonly Column<Stamped>[] = [
  ['timestamptz', ({ at }) => at],
  ['uuid', ({ hit }) => hit.messageId],
  ['smallint', ({ hit }) => hit.n],
  ['text', ({ hit }) => hit.url],
  ['text', ({ hit }) => hit.address],
  ['text', ({ hit }) => plain(hit.userAgent)],
  ['text', ({ hit }) => hit.machine],
]

const ODD = /\p{Cc}|\p{Cs}/u

/** PostgreSQL takes no NUL in a text. */
function plain(text: string): string {
  const cut = text.length > MAX_AGENT ? text.slice(0, MAX_AGENT) : text
  return ODD.test(cut) ? cut.replaceAll(new RegExp(ODD, 'gu'), '?') : cut
}

export function createHits(ctx: Pick<Context, 'db' | 'clock' | 'log'>, bounds = SPOOL_BOUNDS): Hits {
  const spool = createSpool<Stamped>(
    async (batch) => {
      await ctx.db.query(TAKE, binaryColumnsOf(batch, COLUMNS))
    },
    ctx.log,
    bounds,
  )
  const isTooMany = createPace(ctx)
  let surplus = 0
  return {
    take: async (hit) => {
      if (isTooMany(hit)) surplus++
      else await spool.take({ hit, at: new Date(ctx.clock.now()) })
    },
    get counts() {
      return { ...spool.counts, surplus }
    },
    drain: () => spool.drain(),
  }
}

const PLACES = 1 << 20

/**
 * Counts by places in a table of fixed size, of which a recipient has one: no memory is taken for a hit. Another in the same place, one in
 * a million, is counted with it.
 */
function createPace({ clock }: Pick<Context, 'clock'>): (ref: HitRef) => boolean {
  const counts = new Uint8Array(PLACES)
  let endMs = 0
  return (ref) => {
    const now = clock.now()
    if (now >= endMs || now < endMs - WINDOW_MS) {
      counts.fill(0)
      endMs = now + WINDOW_MS
    }
    const place = placeOf(ref)
    const count = counts[place] ?? 0
    if (count >= MOST_IN_A_WINDOW) return true
    counts[place] = count + 1
    return false
  }
}

/** The last digits of an id are random. */
function placeOf({ messageId, n }: HitRef): number {
  return (Number.parseInt(messageId.slice(-5), 16) + n) % PLACES
}
