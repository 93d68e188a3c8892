/**
 * Scores of contacts, a batch at a time: those that have none, those whose score is older than 30 days, those that came on the suppression
 * list since. A contact whose domain nobody answers for is left for the next sweep, and is never worse for it. Nothing is held while DNS is
 * asked; the score is written only where the contact is still as it was read, so two workers at once do the same once.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { idAt } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { sql } from '#src/stores/sql.ts'
import { scoreOf, type MailDomain } from './score-factors.ts'
import { isRole, type IsDisposable } from './address-lists.ts'
import type { MailDomains } from './mail-domain-check.ts'

export interface ScoreMeans {
  readonly domains: MailDomains
  readonly isDisposable: IsDisposable
}

/** Why contacts are looked at; each is a sweep of its own. */
export const SWEEPS = ['unscored', 'aged', 'suppressed'] as const
export type Sweep = (typeof SWEEPS)[number]

export type ScoreResult =
  | { readonly kind: 'none left' }
  /** The next batch begins behind `last`. `unanswered` are left for another sweep: nobody answers for their domains. */
  | { readonly kind: 'batch'; readonly scored: number; readonly unanswered: number; readonly last: string }

interface Picked {
  readonly id: string
  readonly workspaceId: string
  readonly email: string
  readonly verifiedAt: Date | null
}

const BATCH = 1000
export const FIRST = '00000000-0000-0000-0000-000000000000'
const HISTORY_MS = 180 * 24 * 3600 * 1000
const MAX_OUTCOMES = 20

const PICKED = 'c.id, c.workspace_id AS "workspaceId", c.email, c.verified_at AS "verifiedAt"'
/** Who is scored is out of the sweep; who is not is passed by. */
const PICKS: Readonly<Record<Sweep, string>> = {
  unscored: `SELECT ${PICKED} FROM contacts c WHERE c.verified_at IS NULL AND c.id > $1 ORDER BY c.id LIMIT ${BATCH}`,
  aged: sql`
    SELECT ${PICKED}
    FROM contacts c
    WHERE c.verified_at < $2::timestamptz - interval '30 days' AND c.id > $1
    ORDER BY c.id
    LIMIT ${BATCH}
  `,
  suppressed: sql`
    SELECT ${PICKED}
    FROM suppressions s
    JOIN contacts c ON c.workspace_id = s.workspace_id AND c.email = s.address
    WHERE s.created_at > $2::timestamptz - interval '1 day' AND c.verified_at < s.created_at AND c.id > $1
    ORDER BY c.id
    LIMIT ${BATCH}
  `,
}

/** One batch, behind the contact `after`. */
export async function scoreBatch(
  ctx: Pick<Context, 'db' | 'clock'>,
  means: ScoreMeans,
  sweep: Sweep,
  after: string,
): Promise<ScoreResult> {
  const now = new Date(ctx.clock.now())
  const parameters = sweep === 'unscored' ? [after] : [after, now]
  const { rows: picked } = await ctx.db.query<Picked>(PICKS[sweep], parameters)
  const last = picked.at(-1)?.id
  if (last === undefined) return { kind: 'none left' }
  const verdicts = await means.domains(new Set(picked.map(({ email }) => domainOf(email))))
  const known = picked.filter(({ email }) => (verdicts.get(domainOf(email)) ?? 'unknown') !== 'unknown')
  const histories = known.length === 0 ? [] : await readHistories(ctx.db, known, now)
  const scores = known.map((contact, i) =>
    judge(contact.email, verdicts, histories[i] ?? NO_HISTORY, means.isDisposable),
  )
  if (known.length > 0) await writeScores(ctx.db, known, scores, now)
  return { kind: 'batch', scored: known.length, unanswered: picked.length - known.length, last }
}

function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1)
}

function judge(
  email: string,
  verdicts: ReadonlyMap<string, MailDomain>,
  history: History,
  isDisposable: IsDisposable,
): number {
  const domain = domainOf(email)
  const verdict = verdicts.get(domain) ?? 'unknown'
  if (verdict === 'unknown') throw new Error('a contact was judged without its domain')
  return scoreOf({
    ...history,
    domain: verdict,
    isWellFormed: parseAddress(email).ok,
    isDisposable: isDisposable(domain),
    isRole: isRole(email.slice(0, email.lastIndexOf('@'))),
  })
}

interface History {
  readonly suppression: string | null
  readonly outcomes: readonly string[]
}
const NO_HISTORY: History = { suppression: null, outcomes: [] }

const HISTORIES = prepared(
  'score-histories',
  sql`
    SELECT s.kind AS suppression,
      ARRAY(
        SELECT r.state
        FROM recipients r
        WHERE r.workspace_id = q.workspace_id
          AND lower(r.address) COLLATE "C" = q.email
          AND r.message_id >= $3
          AND r.state IN ('delivered', 'bounced', 'failed')
        ORDER BY r.message_id DESC
        LIMIT ${MAX_OUTCOMES}
      ) AS outcomes
    FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS q (workspace_id, email, n)
    LEFT JOIN suppressions s ON s.workspace_id = q.workspace_id AND s.address = q.email
    ORDER BY q.n
  `,
)

async function readHistories(db: Queryable, contacts: readonly Picked[], now: Date): Promise<History[]> {
  const columns = columnsOf(contacts, [(c) => c.workspaceId, (c) => c.email])
  return (await db.query<History>(HISTORIES, [...columns, idAt(now.getTime() - HISTORY_MS)])).rows
}

/** Locked in the order of addresses, as everywhere; a trigger carries the score to the memberships. */
const WRITE = prepared(
  'score-write',
  sql`
    WITH given AS (
      SELECT *
      FROM unnest($1::uuid[], $2::real[], $3::timestamptz[]) AS g (id, score, verified_at)
    ),
    locked AS MATERIALIZED (
      SELECT c.id
      FROM contacts c
      WHERE c.id = ANY ($1)
      ORDER BY c.workspace_id, c.email
      FOR UPDATE
    )
    UPDATE contacts c
    SET score = g.score, verified_at = $4
    FROM given g
    WHERE c.id = g.id AND c.verified_at IS NOT DISTINCT FROM g.verified_at AND (SELECT count(*) FROM locked) > 0
  `,
)

async function writeScores(
  db: Queryable,
  contacts: readonly Picked[],
  scores: readonly number[],
  now: Date,
): Promise<void> {
  const [ids, verified] = columnsOf(contacts, [(c) => c.id, (c) => c.verifiedAt])
  await db.query(WRITE, [ids, scores, verified, now])
}
