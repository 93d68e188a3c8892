/**
 * One batch of rows, in one transaction with the counts and the place where the next one begins: what is counted is done, once, whoever dies
 * when. It is written only while the import is still ours (its lease) and its audience is there.
 *
 * An address that the file had before is known by its hash in import_seen, so a batch needs nothing of the batches before it. Within a batch
 * the rows of one address are folded, the last one winning. A dry run does all but saving.
 */
import { columnsOf } from '#src/columns.ts'
import { saveContacts, type ContactRow } from '#src/contacts/save.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/db.ts'
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
  | { readonly errors: readonly CellError[] })

export type BatchResult = 'written' | 'lost' | 'no audience'

/** @throws what PostgreSQL says to data it cannot hold; nothing is written then. */
export async function writeBatch(ctx: Pick<Context, 'db' | 'clock'>, claim: Claim, rows: readonly ReadRow[], next: Place): Promise<BatchResult> {
  const contacts = rows.flatMap((row) => 'contact' in row ? [row] : [])
  const wrong = rows.flatMap((row) => 'errors' in row ? [row] : [])
  const stop = new BatchStop()
  try {
    await ctx.db.transaction(async (tx) => {
      const looked = await look(tx, claim, contacts)
      const counted = claim.isDryRun ? looked : await save(ctx, tx, claim, { contacts, looked })
      if (counted === null) throw stop.because('no audience')
      const counts = { ...counted, rowCount: rows.length, failed: wrong.length, duplicates: contacts.length - counted.added - counted.updated }
      if (!await advance(tx, claim, counts, next)) throw stop.because('lost')
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

/**
 * What is there of each address before it is saved. An address that came in an earlier batch is not counted again; of those that come twice
 * in this one, one is. Each is looked up by index, whatever the planner believes of the tables (LIMIT keeps the lookups apart).
 */
const LOOK = `
WITH given AS (
  SELECT email, hashtextextended(email, 0) AS hash, bool_or(is_unsubscribed) AS is_unsubscribed
  FROM unnest($4::text[], $5::boolean[]) AS g (email, is_unsubscribed) GROUP BY email
), fresh AS (
  INSERT INTO import_seen (import_id, hash) SELECT $1, hash FROM given ORDER BY hash ON CONFLICT DO NOTHING RETURNING hash
)
SELECT count(*) FILTER (WHERE c.id IS NULL) AS added, count(c.id) AS updated,
  count(*) FILTER (WHERE m.contact_id IS NULL) AS joined,
  count(s.address) AS blocked,
  count(*) FILTER (WHERE NOT m.is_subscribed OR g.is_unsubscribed) AS unsubscribed
FROM fresh JOIN given g USING (hash)
LEFT JOIN LATERAL (SELECT id FROM contacts WHERE workspace_id = $2 AND email = g.email COLLATE "C" LIMIT 1) c ON true
LEFT JOIN LATERAL (SELECT contact_id, is_subscribed FROM memberships WHERE audience_id = $3 AND contact_id = c.id LIMIT 1) m ON true
LEFT JOIN LATERAL (SELECT address FROM suppressions WHERE workspace_id = $2 AND address = g.email COLLATE "C" LIMIT 1) s ON true`

type Counted = Omit<Counts, 'rowCount' | 'failed' | 'duplicates'>
type ContactOfRow = Extract<ReadRow, { contact: unknown }>

async function look(tx: Queryable, claim: Claim, contacts: readonly ContactOfRow[]): Promise<Counted> {
  const columns = columnsOf(contacts, [({ contact }) => contact.email, ({ isUnsubscribed }) => isUnsubscribed])
  // the batch is joined with its hashes; everything else in a transaction goes in by index
  await tx.query('SET LOCAL enable_hashjoin = on')
  const { rows: [counted] } = await tx.query<Counted>(LOOK, [claim.id, claim.workspaceId, claim.audienceId, ...columns])
  await tx.query('SET LOCAL enable_hashjoin = off')
  if (counted === undefined) throw new Error('nothing was counted')
  return counted
}

const UNSUBSCRIBE = `
UPDATE memberships SET is_subscribed = false, updated_at = $3 WHERE audience_id = $1 AND contact_id = ANY ($2) AND is_subscribed`

interface ToSave { readonly contacts: readonly ContactOfRow[]; readonly looked: Counted }

/**
 * What was added is counted exactly, also where others add the same meanwhile. Null when the audience is not there. No row brings anybody
 * back; one that says "unsubscribed" is believed.
 */
async function save(ctx: Pick<Context, 'clock'>, tx: Queryable, claim: Claim, { contacts, looked }: ToSave): Promise<Counted | null> {
  const now = new Date(ctx.clock.now())
  const result = await saveContacts(tx, { ...claim, now }, contacts.map(({ contact }) => contact), { isBulk: true })
  if (result.kind === 'no audience') return null
  const leaving = contacts.flatMap(({ isUnsubscribed }, i) => isUnsubscribed ? [result.contacts[i]?.contactId] : [])
  if (leaving.length > 0) await tx.query(UNSUBSCRIBE, [claim.audienceId, leaving, now])
  const saved = [...new Map(result.contacts.map((contact) => [contact.contactId, contact])).values()]
  const added = saved.filter(({ isNew }) => isNew).length
  return { ...looked, added, updated: looked.added + looked.updated - added, joined: saved.filter(({ isJoined }) => isJoined).length }
}

/** Seconds that a worker may be silent; a batch takes a fraction of one. */
export const LEASE_SECONDS = 60

const ADVANCE = `
UPDATE imports SET position = $3, line = $4, row_count = row_count + $5, added = added + $6, updated = updated + $7, joined = joined + $8,
  duplicates = duplicates + $9, failed = failed + $10, blocked = blocked + $11, unsubscribed = unsubscribed + $12,
  faults = 0, leased_until = now() + interval '${LEASE_SECONDS} seconds', updated_at = now()
WHERE id = $1 AND lease = $2 AND state = 'running'`

async function advance(tx: Queryable, { id, lease }: Claim, counts: Counts, next: Place): Promise<boolean> {
  const { rowCount, added, updated, joined, duplicates, failed, blocked, unsubscribed } = counts
  const values = [id, lease, next.position, next.line, rowCount, added, updated, joined, duplicates, failed, blocked, unsubscribed]
  return (await tx.query(ADVANCE, values)).rowCount === 1
}

const WRITE_ERRORS = `
INSERT INTO import_errors (import_id, line, n, column_name, message, value)
SELECT $1, e.* FROM unnest($2::bigint[], $3::int[], $4::text[], $5::text[], $6::text[]) AS e (line, n, column_name, message, value)
LIMIT (SELECT greatest(0, ${MAX_ERRORS} - count(*)) FROM import_errors WHERE import_id = $1)`

/** The first ones of the file. The row of the import is locked, so nobody else writes some. */
async function writeErrors(tx: Queryable, importId: string, wrong: readonly Extract<ReadRow, { errors: unknown }>[]): Promise<void> {
  if (wrong.length === 0) return
  const errors = wrong.slice(0, MAX_ERRORS).flatMap(({ line, errors: found }) => found.map((error, n) => ({ line, n, ...error })))
  const columns = columnsOf(errors, [(e) => e.line, (e) => e.n, (e) => e.column, (e) => e.message, (e) => e.value])
  await tx.query(WRITE_ERRORS, [importId, ...columns])
}
