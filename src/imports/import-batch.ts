/**
 * Writes one batch of rows in one transaction with the counts and the position where the next batch begins: what is
 * counted was saved, exactly once, whichever process dies and whenever. Nothing is written if the import's lease was
 * lost or its audience was deleted.
 *
 * The table import_seen stores the hashes of a file's addresses, so a repeated address is recognised without the
 * earlier batches. Within a batch, rows with the same address are merged; the last one wins. A dry run does everything
 * but save.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { lockAudience } from '#src/contacts/audiences.ts'
import { saveContacts, type ContactRow } from '#src/contacts/save-contacts.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { MAX_ERRORS, type ImportCounts } from './imports.ts'
import type { FilePosition } from './csv-reader.ts'
import type { CellError } from './contact-row.ts'

export interface ImportClaim {
  readonly id: string
  readonly workspaceId: string
  readonly audienceId: string
  readonly isDryRun: boolean
  readonly lease: string
}

/** A parsed row: a contact, or its errors. */
export type ParsedRow = { readonly line: number; readonly next: FilePosition } & (
  | { readonly contact: ContactRow; readonly isUnsubscribed: boolean }
  | { readonly errors: readonly CellError[] }
)

export type BatchResult = 'written' | 'lost' | 'no audience'

/** @throws the PostgreSQL error if it cannot store the data; nothing is written then. */
export async function writeBatch(
  ctx: Pick<Context, 'db' | 'clock'>,
  claim: ImportClaim,
  rows: readonly ParsedRow[],
  next: FilePosition,
): Promise<BatchResult> {
  const contacts = rows.flatMap((row) => ('contact' in row ? [row] : []))
  const invalid = rows.flatMap((row) => ('errors' in row ? [row] : []))
  const aborted = new BatchAborted()
  try {
    await ctx.db.transaction(async (tx) => {
      const addresses = await recordAddresses(tx, claim, contacts)
      const counted = claim.isDryRun
        ? await previewCounts(tx, claim, { contacts, addresses })
        : await saveBatch(ctx, tx, claim, { contacts, addresses })
      if (counted === null) throw aborted.because('no audience')
      const counts = {
        ...counted,
        rowCount: rows.length,
        failed: invalid.length,
        blocked: addresses.blocked,
        updated: addresses.fresh - counted.added,
        duplicates: contacts.length - addresses.fresh,
      }
      if (!(await commitProgress(tx, claim, counts, next))) throw aborted.because('lost')
      await insertErrors(tx, claim.id, invalid)
    })
    return 'written'
  } catch (error) {
    if (error === aborted) return aborted.reason
    throw error
  }
}

/** Thrown to roll the transaction back; never leaves this file. */
class BatchAborted extends Error {
  reason: Exclude<BatchResult, 'written'> = 'lost'

  because(reason: Exclude<BatchResult, 'written'>): this {
    this.reason = reason
    return this
  }
}

type ContactOfRow = Extract<ParsedRow, { contact: unknown }>

interface AddressCheck {
  /** Addresses of this batch that did not occur in the file before. */
  readonly fresh: number
  /** How many of them are on the suppression list. */
  readonly blocked: number
  /** The other addresses of this batch: they occurred before. */
  readonly repeated: readonly string[]
}

interface CheckedBatch {
  readonly contacts: readonly ContactOfRow[]
  readonly addresses: AddressCheck
}

type SavedCounts = Pick<ImportCounts, 'added' | 'joined' | 'unsubscribed'>

/** LIMIT makes each lookup use its index, whatever the planner assumes about the table. */
const RECORD_ADDRESSES = sql`
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

async function recordAddresses(
  tx: Queryable,
  claim: ImportClaim,
  contacts: readonly ContactOfRow[],
): Promise<AddressCheck> {
  // only this statement joins by hash; the rest of the transaction looks rows up by index
  await tx.query('SET LOCAL enable_hashjoin = on')
  const {
    rows: [addresses],
  } = await tx.query<AddressCheck>(RECORD_ADDRESSES, [
    claim.id,
    claim.workspaceId,
    contacts.map(({ contact }) => contact.email),
  ])
  await tx.query('SET LOCAL enable_hashjoin = off')
  if (addresses === undefined) throw new Error('recording the addresses of a batch returned no row')
  return addresses
}

const PREVIEW = sql`
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

/** Counts what saving would do, for a dry run. Null if the audience does not exist. */
async function previewCounts(
  tx: Queryable,
  claim: ImportClaim,
  { contacts, addresses: seen }: CheckedBatch,
): Promise<SavedCounts | null> {
  const repeated = new Set(seen.repeated)
  const fresh = contacts.filter(({ contact }) => !repeated.has(contact.email))
  const columns = columnsOf(fresh, [({ contact }) => contact.email, ({ isUnsubscribed }) => isUnsubscribed])
  return (await lockAudience(tx, claim)) === null
    ? null
    : ((await tx.query<SavedCounts>(PREVIEW, [claim.workspaceId, claim.audienceId, ...columns])).rows[0] ?? null)
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

/**
 * Saves the batch. Null if the audience does not exist. No row resubscribes a contact; a row with the status
 * "unsubscribed" unsubscribes one.
 */
async function saveBatch(
  ctx: Pick<Context, 'clock'>,
  tx: Queryable,
  claim: ImportClaim,
  { contacts, addresses: seen }: CheckedBatch,
): Promise<SavedCounts | null> {
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
  const mayBeUnsubscribed = rows.filter(
    ({ isUnsubscribed, isJoined, isFresh }) => isFresh && (isUnsubscribed || isJoined !== true),
  )
  const contactIds = mayBeUnsubscribed.map(({ contactId }) => contactId)
  const saved = [...new Map(rows.map((row) => [row.contactId, row])).values()]
  return {
    added: saved.filter(({ isNew }) => isNew).length,
    joined: saved.filter(({ isJoined }) => isJoined).length,
    unsubscribed: await countUnsubscribed(tx, claim.audienceId, contactIds),
  }
}

function toRow({ contact, isUnsubscribed }: ContactOfRow): ContactRow {
  return isUnsubscribed ? { ...contact, isUnsubscribed } : contact
}

async function countUnsubscribed(tx: Queryable, audienceId: string, contactIds: readonly unknown[]): Promise<number> {
  if (contactIds.length === 0) return 0
  const { rows } = await tx.query<{ unsubscribed: number }>(COUNT_UNSUBSCRIBED, [audienceId, contactIds])
  return rows[0]?.unsubscribed ?? 0
}

/** How long a worker may be silent before another one continues its import. A batch takes a fraction of a second. */
export const LEASE_SECONDS = 60

const COMMIT_PROGRESS = sql`
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

async function commitProgress(
  tx: Queryable,
  { id, lease }: ImportClaim,
  counts: ImportCounts,
  next: FilePosition,
): Promise<boolean> {
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
  return (await tx.query(COMMIT_PROGRESS, values)).rowCount === 1
}

const INSERT_ERRORS = sql`
  INSERT INTO import_errors (import_id, line, n, column_name, message, value)
  SELECT $1, e.*
  FROM unnest($2::bigint[], $3::int[], $4::text[], $5::text[], $6::text[]) AS e (line, n, column_name, message, value)
  LIMIT (SELECT greatest(0, ${MAX_ERRORS} - count(*)) FROM import_errors WHERE import_id = $1)
`

/** Stores the first errors of the file. The row of the import is locked, so nobody else stores some. */
async function insertErrors(
  tx: Queryable,
  importId: string,
  invalid: readonly Extract<ParsedRow, { errors: unknown }>[],
): Promise<void> {
  if (invalid.length === 0) return
  const errors = invalid
    .slice(0, MAX_ERRORS)
    .flatMap(({ line, errors: found }) => found.map((error, n) => ({ line, n, ...error })))
  const columns = columnsOf(errors, [(e) => e.line, (e) => e.n, (e) => e.column, (e) => e.message, (e) => e.value])
  await tx.query(INSERT_ERRORS, [importId, ...columns])
}
