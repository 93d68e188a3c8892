/**
 * One batch of rows, in one transaction with the counts and the place where the next one begins: what is counted is done, once, whoever
 * dies when. It is written only while the import is still ours (its lease) and its audience is there.
 *
 * An address that the file had before is known by its hash in import_seen, so a batch needs nothing of the batches before it. Within a
 * batch the rows of one address are folded, the last one winning. A dry run does all but saving.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { holdAudience } from '#src/contacts/audiences.ts'
import { saveContacts, type ContactRow } from '#src/contacts/save.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { MAX_ERRORS, type Counts } from './imports.ts'
import type { Place } from './reader.ts'
import type { CellError } from './row.ts'

export interface Claim {
  readonly id: string
  readonly workspaceId: string
  readonly audienceId: string
  readonly isDryRun: boolean
  readonly lease: string
}

/** A row that was read: a contact, or what is wrong with it. */
export type ReadRow = { readonly line: number; readonly next: Place } & (
  | { readonly contact: ContactRow; readonly isUnsubscribed: boolean }
  | { readonly errors: readonly CellError[] }
)

export type BatchResult = 'written' | 'lost' | 'no audience'

/** @throws what PostgreSQL says to data it cannot hold; nothing is written then. */
export async function writeBatch(
  ctx: Pick<Context, 'db' | 'clock'>,
  claim: Claim,
  rows: readonly ReadRow[],
  next: Place,
): Promise<BatchResult> {
  const contacts = rows.flatMap((row) => ('contact' in row ? [row] : []))
  const wrong = rows.flatMap((row) => ('errors' in row ? [row] : []))
  const stop = new BatchStop()
  try {
    await ctx.db.transaction(async (tx) => {
      const seen = await look(tx, claim, contacts)
      const counted = claim.isDryRun
        ? await foresee(tx, claim, { contacts, seen })
        : await save(ctx, tx, claim, { contacts, seen })
      if (counted === null) throw stop.because('no audience')
      const counts = {
        ...counted,
        rowCount: rows.length,
        failed: wrong.length,
        blocked: seen.blocked,
        updated: seen.fresh - counted.added,
        duplicates: contacts.length - seen.fresh,
      }
      if (!(await advance(tx, claim, counts, next))) throw stop.because('lost')
      await writeErrors(tx, claim.id, wrong)
    })
    return 'written'
  } catch (error) {
    if (error === stop) return stop.reason
    throw error
  }
}

/** Rolls the transaction back; never leaves this file. */
class BatchStop extends Error {
  reason: Exclude<BatchResult, 'written'> = 'lost'

  because(reason: Exclude<BatchResult, 'written'>): this {
    this.reason = reason
    return this
  }
}

type ContactOfRow = Extract<ReadRow, { contact: unknown }>

interface Seen {
  /** Addresses of this batch that the file did not have before. */
  readonly fresh: number
  /** Of these, on the suppression list. */
  readonly blocked: number
  /** The other addresses of this batch. */
  readonly repeated: readonly string[]
}

interface Known {
  readonly contacts: readonly ContactOfRow[]
  readonly seen: Seen
}

type Counted = Pick<Counts, 'added' | 'joined' | 'unsubscribed'>

/** LIMIT keeps the lookup apart: it goes in by index, whatever the planner believes of the table. */
const LOOK = sql`
  WITH given AS (
    SELECT DISTINCT email, hashtextextended(email, 0) AS hash
    FROM unnest($3::text[]) AS g (email)
  ),
  fresh AS (
    INSERT INTO import_seen (import_id, hash)
    SELECT $1, hash
    FROM given
    ORDER BY hash
    ON CONFLICT DO NOTHING
    RETURNING hash
  )
  SELECT count(f.hash)::int AS fresh, count(s.address) FILTER (WHERE f.hash IS NOT NULL)::int AS blocked,
    coalesce(array_agg(g.email) FILTER (WHERE f.hash IS NULL), '{}') AS repeated
  FROM given g
  LEFT JOIN fresh f USING (hash)
  LEFT JOIN LATERAL (
    SELECT address
    FROM suppressions
    WHERE workspace_id = $2 AND address = g.email COLLATE "C"
    LIMIT 1
  ) s ON true
`

async function look(tx: Queryable, claim: Claim, contacts: readonly ContactOfRow[]): Promise<Seen> {
  // the batch is joined with its hashes; everything else in a transaction goes in by index
  await tx.query('SET LOCAL enable_hashjoin = on')
  const {
    rows: [seen],
  } = await tx.query<Seen>(LOOK, [claim.id, claim.workspaceId, contacts.map(({ contact }) => contact.email)])
  await tx.query('SET LOCAL enable_hashjoin = off')
  if (seen === undefined) throw new Error('nothing was counted')
  return seen
}

const FORESEE = sql`
  SELECT count(*) FILTER (WHERE c.id IS NULL)::int AS added,
    count(*) FILTER (WHERE m.contact_id IS NULL)::int AS joined,
    count(*) FILTER (WHERE NOT m.is_subscribed OR g.is_unsubscribed)::int AS unsubscribed
  FROM (
    SELECT email, bool_or(is_unsubscribed) AS is_unsubscribed
    FROM unnest($3::text[], $4::boolean[]) AS u (email, is_unsubscribed)
    GROUP BY email
  ) g
  LEFT JOIN LATERAL (
    SELECT id
    FROM contacts
    WHERE workspace_id = $1 AND email = g.email COLLATE "C"
    LIMIT 1
  ) c ON true
  LEFT JOIN LATERAL (
    SELECT contact_id, is_subscribed
    FROM memberships
    WHERE audience_id = $2 AND contact_id = c.id
    LIMIT 1
  ) m ON true
`

/** What saving would do. */
async function foresee(tx: Queryable, claim: Claim, { contacts, seen }: Known): Promise<Counted | null> {
  const repeated = new Set(seen.repeated)
  const fresh = contacts.filter(({ contact }) => !repeated.has(contact.email))
  const columns = columnsOf(fresh, [({ contact }) => contact.email, ({ isUnsubscribed }) => isUnsubscribed])
  return (await holdAudience(tx, claim)) === null
    ? null
    : ((await tx.query<Counted>(FORESEE, [claim.workspaceId, claim.audienceId, ...columns])).rows[0] ?? null)
}

const UNSUBSCRIBE = sql`
  UPDATE memberships
  SET is_subscribed = false, updated_at = $3
  WHERE audience_id = $1 AND contact_id = ANY ($2) AND is_subscribed
`
const COUNT_UNSUBSCRIBED = sql`
  SELECT count(*)::int AS unsubscribed
  FROM memberships
  WHERE audience_id = $1 AND contact_id = ANY ($2) AND NOT is_subscribed
`

/** Null when the audience is not there. No row brings anybody back; one that says "unsubscribed" is believed. */
async function save(
  ctx: Pick<Context, 'clock'>,
  tx: Queryable,
  claim: Claim,
  { contacts, seen }: Known,
): Promise<Counted | null> {
  const now = new Date(ctx.clock.now())
  const result = await saveContacts(tx, { ...claim, now }, contacts.map(toRow), { isBulk: true })
  if (result.kind === 'no audience') return null
  const repeated = new Set(seen.repeated)
  const rows = contacts.map(({ contact, isUnsubscribed }, i) => ({
    isUnsubscribed,
    isFresh: !repeated.has(contact.email),
    ...result.contacts[i],
  }))
  const leaving = rows.filter(({ isUnsubscribed }) => isUnsubscribed).map(({ contactId }) => contactId)
  if (leaving.length > 0) await tx.query(UNSUBSCRIBE, [claim.audienceId, leaving, now])
  const mayBeOut = rows.filter(
    ({ isUnsubscribed, isJoined, isFresh }) => isFresh && (isUnsubscribed || isJoined !== true),
  )
  const out =
    mayBeOut.length === 0
      ? 0
      : await countUnsubscribed(
          tx,
          claim.audienceId,
          mayBeOut.map(({ contactId }) => contactId),
        )
  const saved = [...new Map(rows.map((row) => [row.contactId, row])).values()]
  return {
    added: saved.filter(({ isNew }) => isNew).length,
    joined: saved.filter(({ isJoined }) => isJoined).length,
    unsubscribed: out,
  }
}

function toRow({ contact, isUnsubscribed }: ContactOfRow): ContactRow {
  return isUnsubscribed ? { ...contact, isUnsubscribed } : contact
}

async function countUnsubscribed(tx: Queryable, audienceId: string, contactIds: readonly unknown[]): Promise<number> {
  const { rows } = await tx.query<{ unsubscribed: number }>(COUNT_UNSUBSCRIBED, [audienceId, contactIds])
  return rows[0]?.unsubscribed ?? 0
}

/** Seconds that a worker may be silent; a batch takes a fraction of one. */
export const LEASE_SECONDS = 60

const ADVANCE = sql`
  UPDATE imports
  SET position = $3,
    line = $4,
    row_count = row_count + $5,
    added = added + $6,
    updated = updated + $7,
    joined = joined + $8,
    duplicates = duplicates + $9,
    failed = failed + $10,
    blocked = blocked + $11,
    unsubscribed = unsubscribed + $12,
    faults = 0,
    leased_until = now() + interval '${LEASE_SECONDS} seconds',
    updated_at = now()
  WHERE id = $1 AND lease = $2 AND state = 'running'
`

async function advance(tx: Queryable, { id, lease }: Claim, counts: Counts, next: Place): Promise<boolean> {
  const { rowCount, added, updated, joined, duplicates, failed, blocked, unsubscribed } = counts
  const values = [
    id,
    lease,
    next.position,
    next.line,
    rowCount,
    added,
    updated,
    joined,
    duplicates,
    failed,
    blocked,
    unsubscribed,
  ]
  return (await tx.query(ADVANCE, values)).rowCount === 1
}

const WRITE_ERRORS = sql`
  INSERT INTO import_errors (import_id, line, n, column_name, message, value)
  SELECT $1, e.*
  FROM unnest($2::bigint[], $3::int[], $4::text[], $5::text[], $6::text[]) AS e (line, n, column_name, message, value)
  LIMIT (SELECT greatest(0, ${MAX_ERRORS} - count(*)) FROM import_errors WHERE import_id = $1)
`

/** The first ones of the file. The row of the import is locked, so nobody else writes some. */
async function writeErrors(
  tx: Queryable,
  importId: string,
  wrong: readonly Extract<ReadRow, { errors: unknown }>[],
): Promise<void> {
  if (wrong.length === 0) return
  const errors = wrong
    .slice(0, MAX_ERRORS)
    .flatMap(({ line, errors: found }) => found.map((error, n) => ({ line, n, ...error })))
  const columns = columnsOf(errors, [(e) => e.line, (e) => e.n, (e) => e.column, (e) => e.message, (e) => e.value])
  await tx.query(WRITE_ERRORS, [importId, ...columns])
}
