/**
 * What became of a campaign's recipients, in numbers. Every statement that touches a ledger notes what it changes (migration 018); a reader
 * adds the notes up, so a figure is exact at any moment and costs the same for ten recipients and for a million. Notes are folded in
 * batches: many rows become one, and nobody waits for a counter.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** Of a ledger. `ahead`: in the queue, and nothing has become of them yet. `settled`: nothing more will by itself. */
export const FIGURES = [
  'recipients',
  'waiting',
  'ahead',
  'settled',
  'dispatched',
  'delivered',
  'opened',
  'clicked',
  'bounced_hard',
  'bounced_soft',
  'failed',
  'complained',
  'unsubscribed',
  'machine_opened',
  'machine_clicked',
  'suppressed',
  'skipped',
  'cancelled',
] as const
export type Figures = Readonly<Record<(typeof FIGURES)[number], number>>
/** `a` and `b` are the two sides of a test. */
export type Variant = 'a' | 'b'

const SUMS = FIGURES.map((name) => `sum(${name})::bigint AS ${name}`).join(', ')
const READ = prepared(
  'campaign-figures',
  `SELECT variant, ${SUMS} FROM campaign_changes WHERE campaign_id = $1 GROUP BY variant`,
)
const NONE = Object.fromEntries(FIGURES.map((name) => [name, 0])) as unknown as Figures

export interface CampaignFigures {
  readonly all: Figures
  readonly variants: Readonly<Record<Variant, Figures>>
}

export async function readFigures(db: Queryable, campaignId: string): Promise<CampaignFigures> {
  const { rows } = await db.query<Figures & { variant: Variant | null }>(READ, [campaignId])
  const ofVariant = (variant: Variant): Figures => rows.find((row) => row.variant === variant) ?? NONE
  const all = Object.fromEntries(
    FIGURES.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]),
  ) as unknown as Figures
  return { all, variants: { a: ofVariant('a'), b: ofVariant('b') } }
}

const SLICE = 5000
const FOLD = prepared(
  'campaign-figures-fold',
  sql`
    WITH taken AS (
      DELETE FROM campaign_changes
      WHERE id IN (
        SELECT id
        FROM campaign_changes
        ORDER BY id
        LIMIT ${SLICE}
        FOR UPDATE SKIP LOCKED
      )
      RETURNING campaign_id, variant, ${FIGURES.join(', ')}
    ),
    folded AS (
      INSERT INTO campaign_changes (campaign_id, variant, ${FIGURES.join(', ')})
      SELECT campaign_id, variant, ${FIGURES.map((name) => `sum(${name})`).join(', ')}
      FROM taken
      GROUP BY campaign_id, variant
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM taken)::int AS taken, (SELECT count(*) FROM folded)::int AS left
  `,
)

/** True when there may be more. What is folded stands behind what came meanwhile, so that each turn sees other campaigns too. */
export async function foldFigures(db: Queryable): Promise<boolean> {
  const {
    rows: [row],
  } = await db.query<{ taken: number; left: number }>(FOLD)
  return row !== undefined && row.taken === SLICE && row.left < SLICE / 2
}
