/**
 * Takes opens and clicks: the hits of a few milliseconds share one commit, and each is answered after it. What is stored here waits some
 * seconds to be judged and told (record.ts). Dies before the commit: the client has no answer and asks again. Of one recipient so many are
 * stored in a minute by one process; those beyond are answered like the others, and are nothing.
 */
import { createBatcher } from '#src/batcher.ts'
import { binaryColumnsOf, type Column } from '#src/binary-columns.ts'
import type { Context } from '#src/context.ts'
import { prepared } from '#src/db.ts'
import type { HitRef } from './tokens.ts'

export interface TakenHit extends HitRef {
  /** Null: the open pixel. */
  readonly url: string | null
  readonly address: string
  readonly userAgent: string
  readonly machine: string | null
}

export interface Hits {
  /** Resolves when it is committed, or is one too many. @throws when PostgreSQL is away. */
  take(hit: TakenHit): Promise<void>
  drain(): Promise<void>
}

const BATCH = { max: 1000, lanes: 2, gatherMs: 2 }
const MOST_IN_A_WINDOW = 60
const WINDOW_MS = 60_000
const MOST_COUNTED = 100_000
const MAX_AGENT = 500

interface Stamped extends TakenHit {
  readonly at: Date
}

const TAKE = prepared('tracking-hits-take', `
INSERT INTO tracking_hits (at, message_id, n, url, address, user_agent, machine)
SELECT * FROM unnest($1::timestamptz[], $2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[])`)
const COLUMNS: readonly Column<Stamped>[] = [
  ['timestamptz', (hit) => hit.at], ['uuid', (hit) => hit.messageId], ['smallint', (hit) => hit.n], ['text', (hit) => hit.url],
  ['text', (hit) => hit.address], ['text', (hit) => plain(hit.userAgent)], ['text', (hit) => hit.machine],
]

/** PostgreSQL takes no NUL in a text. */
function plain(text: string): string {
  return text.slice(0, MAX_AGENT).replaceAll(/\p{Cc}|\p{Cs}/gu, '?')
}

export function createHits(ctx: Pick<Context, 'db' | 'clock'>): Hits {
  const batcher = createBatcher<Stamped, null>(async (batch) => {
    await ctx.db.query(TAKE, binaryColumnsOf(batch, COLUMNS))
    return batch.map(() => null)
  }, BATCH)
  let counts = new Map<string, number>()
  let endMs = 0

  function isTooMany({ messageId, n }: TakenHit): boolean {
    const now = ctx.clock.now()
    if (now >= endMs || now < endMs - WINDOW_MS || counts.size > MOST_COUNTED) [counts, endMs] = [new Map(), now + WINDOW_MS]
    const name = `${messageId} ${n}`
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return count > MOST_IN_A_WINDOW
  }

  return {
    take: async (hit) => {
      if (!isTooMany(hit)) await batcher.add({ ...hit, at: new Date(ctx.clock.now()) })
    },
    drain: () => batcher.drain(),
  }
}
