/**
 * Scores contacts in batches: those without a score, those whose score is older than 30 days, and those suppressed
 * since they were scored. A contact whose domain gets no DNS answer keeps its score and is left for the next sweep. No
 * lock is held during DNS queries; a score is written only if the contact has not been scored since it was read, so two
 * workers at once write one score.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { idAt } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly, weeksSince } from '#src/stores/weeks.ts'
import { scoreOf, type MailDomainStatus } from './score-factors.ts'
import { isRoleAddress, type IsDisposable } from './address-lists.ts'
import type { MailDomainChecker } from './mail-domain-check.ts'

export interface ScoringDeps {
  readonly domains: MailDomainChecker
  readonly isDisposable: IsDisposable
}

/** Reasons to score contacts; each has a sweep of its own. */
export const SCORE_SWEEPS = ['unscored', 'aged', 'suppressed'] as const
export type ScoreSweep = (typeof SCORE_SWEEPS)[number]

export type ScoreResult =
  | { readonly kind: 'none left' }
  /**
   * The next batch starts after `last`. `unanswered` contacts are left for another sweep: DNS did not answer for their
   * domains.
   */
  | { readonly kind: 'batch'; readonly scored: number; readonly unanswered: number; readonly last: string }

interface ScoreCandidate {
  readonly id: string
  readonly workspaceId: string
  readonly email: string
  readonly verifiedAt: Date | null
}

const BATCH = 1000
export const FIRST_CONTACT_ID = '00000000-0000-0000-0000-000000000000'
const HISTORY_MS = 180 * 24 * 3600 * 1000
const MAX_OUTCOMES = 20

const CANDIDATE_COLUMNS = 'c.id, c.workspace_id AS "workspaceId", c.email, c.verified_at AS "verifiedAt"'
/** A scored contact leaves the sweep; one that is not is passed over. */
const SWEEP_QUERIES: Readonly<Record<ScoreSweep, string>> = {
  unscored: sql`
    SELECT ${CANDIDATE_COLUMNS}
    FROM contacts c
    WHERE c.verified_at IS NULL AND c.id > $1
    ORDER BY c.id
    LIMIT ${BATCH}
  `,
  aged: sql`
    SELECT ${CANDIDATE_COLUMNS}
    FROM contacts c
    WHERE c.verified_at < $2::timestamptz - interval '30 days' AND c.id > $1
    ORDER BY c.id
    LIMIT ${BATCH}
  `,
  suppressed: sql`
    SELECT ${CANDIDATE_COLUMNS}
    FROM suppressions s
    JOIN contacts c ON c.workspace_id = s.workspace_id AND c.email = s.address
    WHERE s.created_at > $2::timestamptz - interval '1 day' AND c.verified_at < s.created_at AND c.id > $1
    ORDER BY c.id
    LIMIT ${BATCH}
  `,
}

/** Scores one batch after the contact `after`. */
export async function scoreBatch(
  ctx: Pick<Context, 'db' | 'clock'>,
  deps: ScoringDeps,
  sweep: ScoreSweep,
  after: string,
): Promise<ScoreResult> {
  const now = new Date(ctx.clock.now())
  const parameters = sweep === 'unscored' ? [after] : [after, now]
  const { rows: candidates } = await ctx.db.query<ScoreCandidate>(SWEEP_QUERIES[sweep], parameters)
  const last = candidates.at(-1)?.id
  if (last === undefined) return { kind: 'none left' }
  const domains = await deps.domains(new Set(candidates.map(({ email }) => domainOf(email))))
  const known = candidates.filter(({ email }) => (domains.get(domainOf(email)) ?? 'unknown') !== 'unknown')
  const histories = known.length === 0 ? [] : await readHistories(ctx.db, known, now)
  const scores = known.map((contact, i) =>
    scoreContact(contact.email, domains, histories[i] ?? NO_HISTORY, deps.isDisposable),
  )
  if (known.length > 0) await writeScores(ctx.db, known, scores, now)
  return { kind: 'batch', scored: known.length, unanswered: candidates.length - known.length, last }
}

function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1)
}

function scoreContact(
  email: string,
  domains: ReadonlyMap<string, MailDomainStatus>,
  history: AddressHistory,
  isDisposable: IsDisposable,
): number {
  const domain = domainOf(email)
  const status = domains.get(domain) ?? 'unknown'
  if (status === 'unknown') throw new Error('a contact cannot be scored without a result for its domain')
  return scoreOf({
    ...history,
    domain: status,
    isWellFormed: parseAddress(email).ok,
    isDisposable: isDisposable(domain),
    isRole: isRoleAddress(email.slice(0, email.lastIndexOf('@'))),
  })
}

interface AddressHistory {
  readonly suppression: string | null
  readonly outcomes: readonly string[]
}
const NO_HISTORY: AddressHistory = { suppression: null, outcomes: [] }

const HISTORIES = weekly(
  'score-histories',
  (weeks) => sql`
    SELECT s.kind AS suppression,
      ARRAY(
        SELECT r.state
        FROM recipients r
        WHERE r.workspace_id = q.workspace_id
          AND lower(r.address) COLLATE "C" = q.email
          AND r.message_id >= $3
          AND ${weeks.contain('r.message_id')}
          AND r.state IN ('delivered', 'bounced', 'failed')
        ORDER BY r.message_id DESC
        LIMIT ${MAX_OUTCOMES}
      ) AS outcomes
    FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS q (workspace_id, email, n)
    LEFT JOIN suppressions s ON s.workspace_id = q.workspace_id AND s.address = q.email
    ORDER BY q.n
  `,
)

async function readHistories(db: Queryable, contacts: readonly ScoreCandidate[], now: Date): Promise<AddressHistory[]> {
  const columns = columnsOf(contacts, [(c) => c.workspaceId, (c) => c.email])
  const sinceMs = now.getTime() - HISTORY_MS
  return (await db.query<AddressHistory>(HISTORIES.within(weeksSince(sinceMs)), [...columns, idAt(sinceMs)])).rows
}

/** Locks contacts in the order of addresses, as everywhere. A trigger copies the score to the memberships. */
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
  contacts: readonly ScoreCandidate[],
  scores: readonly number[],
  now: Date,
): Promise<void> {
  const [ids, verified] = columnsOf(contacts, [(c) => c.id, (c) => c.verifiedAt])
  await db.query(WRITE, [ids, scores, verified, now])
}
