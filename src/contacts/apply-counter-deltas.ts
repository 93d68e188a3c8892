/**
 * Notes of changed memberships become counts and marks. A note is taken and added in one transaction under the lock of its audience, so
 * two workers at once are one after the other, and one that dies has changed nothing. Blocks that outgrow are split; where notes have no
 * places (sums of a large statement), or have piled up so that counting anew is cheaper, the marks are given up and made anew as soon as
 * the audience is quiet (pagination-index.ts).
 */
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { MARK_DISTANCE, rebuildMarks, WORTH_MARKS } from './pagination-index.ts'
import { compareWith, orderBy, ORDERS, placeValues, SORTS, type Place, type Sort } from './sorts.ts'

/** Taken in one transaction. */
const SLICE = 5000
/** More notes of one audience than this: counting anew is cheaper. */
const PILE = 50_000
/** Notes looked at for the audiences that have some. */
const OLDEST = 20_000

type Stores = Pick<Context, 'db' | 'log'>

/** Folds what there is. True when more is left. */
export async function foldNotes(ctx: Stores): Promise<boolean> {
  const { rows } = await ctx.db.query<{ id: string }>(sql`
    SELECT DISTINCT audience_id AS id
    FROM (
      SELECT audience_id
      FROM membership_changes
      ORDER BY id
      LIMIT ${OLDEST}
    ) oldest
    ORDER BY 1
  `)
  const busy = new Set<string>()
  let isMore = false
  for (const { id } of rows) {
    const folded = await ctx.db.transaction((tx) => foldAudience(tx, id))
    if (folded.hasLostPlaces) busy.add(id)
    isMore ||= folded.isMore
  }
  await markAnew(ctx, busy)
  return isMore
}

/** Audiences without marks that would be worth them, unless they are being changed in large statements right now. */
async function markAnew(ctx: Stores, busy: ReadonlySet<string>): Promise<void> {
  const { rows } = await ctx.db.query<{ id: string }>(
    `SELECT id FROM audiences WHERE deleted_at IS NULL AND NOT is_marked AND contact_count >= ${WORTH_MARKS}`,
  )
  for (const { id } of rows) if (!busy.has(id)) await rebuildMarks(ctx, id)
}

interface Folded {
  readonly hasLostPlaces: boolean
  readonly isMore: boolean
}

const NOTHING: Folded = { hasLostPlaces: false, isMore: false }

// KEY SHARE, which those who add members hold, does not wait for this
const LOCK = prepared(
  'fold-lock',
  'SELECT is_marked AS "isMarked" FROM audiences WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED',
)
const FORGET = prepared(
  'fold-forget',
  sql`
    DELETE FROM membership_changes
    WHERE audience_id = $1 AND NOT EXISTS (SELECT 1 FROM audiences WHERE id = $1)
  `,
)
const GIVE_UP = prepared('fold-give-up', 'UPDATE audiences SET is_marked = false WHERE id = $1 AND is_marked')

async function foldAudience(tx: Queryable, audienceId: string): Promise<Folded> {
  const {
    rows: [audience],
  } = await tx.query<{ isMarked: boolean }>(LOCK, [audienceId])
  if (audience === undefined) {
    await tx.query(FORGET, [audienceId]) // of an audience that was cleared; another worker's is left alone
    return NOTHING
  }
  const isKept = audience.isMarked && !(await isPiled(tx, audienceId))
  const taken = await take(tx, audienceId, isKept)
  const hasLostPlaces = taken.hasSums || !isKept
  if (hasLostPlaces) await tx.query(GIVE_UP, [audienceId])
  else for (const block of taken.outgrown ?? []) await split(tx, audienceId, block)
  return { hasLostPlaces: taken.hasSums, isMore: taken.notes === SLICE }
}

const PILED = prepared(
  'fold-piled',
  sql`
    SELECT count(*) AS notes
    FROM (
      SELECT 1
      FROM membership_changes
      WHERE audience_id = $1
      LIMIT ${PILE + 1}
    ) few
  `,
)

async function isPiled(tx: Queryable, audienceId: string): Promise<boolean> {
  const { rows } = await tx.query<{ notes: number }>(PILED, [audienceId])
  return (rows[0]?.notes ?? 0) > PILE
}

interface Block extends Place {
  readonly sort: Sort
  readonly total: number
}

interface Taken {
  readonly notes: number
  readonly hasSums: boolean
  readonly outgrown: readonly Block[] | null
}

const PLACES = SORTS.map((sort) => `('${sort}', ${ORDERS[sort].key})`).join(', ')
const TAKE = prepared(
  'fold-take',
  sql`
    WITH m AS (
      DELETE FROM membership_changes
      WHERE id = ANY (
        ARRAY(
          SELECT id
          FROM membership_changes
          WHERE audience_id = $1
          LIMIT ${SLICE}
        )
      )
      RETURNING *
    ),
    counted AS (
      UPDATE audiences
      SET contact_count = contact_count + s.total, subscribed_count = subscribed_count + s.subscribed
      FROM (SELECT sum(total) AS total, sum(subscribed) AS subscribed FROM m HAVING count(*) > 0) s
      WHERE id = $1
    ),
    placed AS (
      SELECT p.sort, b.key, b.contact_id, sum(m.total) AS total, sum(m.subscribed) AS subscribed
      FROM m
      CROSS JOIN LATERAL (VALUES ${PLACES}) p (sort, key)
      CROSS JOIN LATERAL (
        SELECT a.key, a.contact_id
        FROM audience_marks a
        WHERE a.audience_id = $1 AND a.sort = p.sort AND (a.key, a.contact_id) <= (p.key COLLATE "C", m.contact_id)
        ORDER BY a.key DESC, a.contact_id DESC
        LIMIT 1
      ) b
      WHERE $2 AND m.contact_id IS NOT NULL
      GROUP BY 1, 2, 3
      HAVING sum(m.total) <> 0 OR sum(m.subscribed) <> 0
    ),
    marked AS (
      UPDATE audience_marks a
      SET total = a.total + p.total, subscribed = a.subscribed + p.subscribed
      FROM placed p
      WHERE a.audience_id = $1 AND a.sort = p.sort AND a.key = p.key AND a.contact_id = p.contact_id
      RETURNING a.sort, a.key, a.contact_id AS "contactId", a.total
    )
    SELECT (SELECT count(*) FROM m) AS notes, EXISTS (SELECT 1 FROM m WHERE contact_id IS NULL) AS "hasSums",
      (
        SELECT json_agg(o)
        FROM (SELECT * FROM marked WHERE total > ${2 * MARK_DISTANCE}) o
      ) AS outgrown
  `,
)

/** Takes a slice of the notes into the counts and, where these are kept, the marks. */
async function take(tx: Queryable, audienceId: string, isKept: boolean): Promise<Taken> {
  const {
    rows: [taken],
  } = await tx.query<Taken>(TAKE, [audienceId, isKept])
  if (taken === undefined) throw new Error('a fold answered nothing')
  return taken
}

interface Statements {
  readonly middle: ReturnType<typeof prepared>
  readonly divide: ReturnType<typeof prepared>
}

/**
 * `middle`: the place to split at, if it is before the next mark. `divide`: the mark keeps what is before that place, the new one has
 * the rest.
 */
const SPLIT = Object.fromEntries(
  SORTS.map((sort): [Sort, Statements] => [
    sort,
    {
      middle: prepared(
        `fold-middle-${sort}`,
        sql`
          SELECT key, contact_id AS "contactId"
          FROM (
            SELECT ${ORDERS[sort].key} AS key, m.contact_id
            FROM memberships m
            WHERE m.audience_id = $1 AND ${compareWith(sort, '>=', 2)}
            ORDER BY ${orderBy(sort, 'ASC')}
            OFFSET ${MARK_DISTANCE}
            LIMIT 1
          ) n
          WHERE NOT EXISTS (
            SELECT 1
            FROM audience_marks a
            WHERE a.audience_id = $1
              AND a.sort = '${sort}'
              AND (a.key, a.contact_id) > ($4 COLLATE "C", $3::uuid)
              AND (a.key, a.contact_id) <= (n.key COLLATE "C", n.contact_id)
          )
        `,
      ),
      divide: prepared(
        `fold-divide-${sort}`,
        sql`
          WITH here AS (
            SELECT count(*) AS total, count(*) FILTER (WHERE m.is_subscribed) AS subscribed
            FROM memberships m
            WHERE m.audience_id = $1 AND ${compareWith(sort, '>=', 2)} AND ${compareWith(sort, '<', 4)}
          ),
          noted AS (
            SELECT coalesce(sum(m.total), 0) AS total, coalesce(sum(m.subscribed), 0) AS subscribed
            FROM membership_changes m
            WHERE m.audience_id = $1 AND ${compareWith(sort, '>=', 2)} AND ${compareWith(sort, '<', 4)}
          ),
          before AS (
            SELECT total, subscribed
            FROM audience_marks
            WHERE audience_id = $1 AND sort = '${sort}' AND key = $6 AND contact_id = $3
          ),
          upper_half AS (
            INSERT INTO audience_marks (audience_id, sort, key, contact_id, total, subscribed)
            SELECT $1, '${sort}', $7, $5, b.total - h.total + n.total, b.subscribed - h.subscribed + n.subscribed
            FROM before b, here h, noted n
          )
          UPDATE audience_marks
          SET total = h.total - n.total, subscribed = h.subscribed - n.subscribed
          FROM here h, noted n
          WHERE audience_id = $1 AND sort = '${sort}' AND key = $6 AND contact_id = $3
        `,
      ),
    },
  ]),
) as Record<Sort, Statements>

/** Cuts off a block's first thousand, again and again while the rest is too large. */
async function split(tx: Queryable, audienceId: string, block: Block): Promise<void> {
  let start: Place = block
  for (let left = block.total; left > 2 * MARK_DISTANCE; left -= MARK_DISTANCE) {
    const { middle, divide } = SPLIT[block.sort]
    const {
      rows: [place],
    } = await tx.query<Place>(middle, [audienceId, ...placeValues(block.sort, start), start.key])
    if (place === undefined) return
    await tx.query(divide, [
      audienceId,
      ...placeValues(block.sort, start),
      ...placeValues(block.sort, place),
      start.key,
      place.key,
    ])
    start = place
  }
}
