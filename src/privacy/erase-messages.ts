/**
 * Erases messages to a person, week by week, and events about them. A message to nobody else is deleted with everything
 * that belongs to it. A message to several people loses this recipient, and its texts once it is sent to all of them.
 *
 * A slice locks its recipients before it decides, so that no outbound process claims one meanwhile. What it erased is
 * not found again. Mail that waits is cancelled in the same transaction. A message that is being sent, to this person
 * or to others, or whose outcome is unknown, is left, and the step begins again later.
 */
import { applyTransitions, type Transition } from '#src/messages/transition.ts'
import { isWaiting, type State } from '#src/messages/state.ts'
import { canonicalMailbox } from '#src/mail/canonical-mailbox.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { idAt } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { type PartitionedTable, WEEK_MS } from '#src/stores/partition-names.ts'
import { listWeeks } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { type Weeks, weeksOf } from '#src/stores/weeks.ts'
import {
  isSpelling,
  matches,
  type Person,
  type SliceResult,
  type SliceStart,
  spelled,
  spellingParameters,
  spellingPatterns,
} from './person.ts'

const SLICE = 200

interface FoundSpelling {
  readonly id: string
  readonly n: number
  readonly address: string
}

interface FoundRecipient extends FoundSpelling {
  readonly state: State
  readonly isOpen: boolean
  readonly count: number
}

/** All recipients of the last message are in the slice, which may be left. */
const FIND = (weeks: Weeks): string => sql`
  SELECT r.message_id AS id, r.n, r.address
  FROM ${spelled({
    table: 'recipients',
    as: 'r',
    column: 'address',
    indexed: 'lower(t.address) COLLATE "C"',
    where: `${weeks.contain('t.message_id')} AND t.message_id > $5`,
  })}
  ORDER BY r.message_id
  FETCH FIRST ${SLICE} ROWS WITH TIES
`
/** After a wait for a lock, PostgreSQL reads the row again: the state is the present one. */
const LOCK = (weeks: Weeks): string => sql`
  SELECT r.message_id AS id, r.n, r.address, r.state, r.is_open AS "isOpen", m.recipient_count AS count
  FROM unnest($1::uuid[], $2::smallint[]) AS found (message_id, n)
  JOIN recipients r ON r.message_id = found.message_id AND r.n = found.n AND ${weeks.contain('r.message_id')}
  JOIN messages m ON m.id = r.message_id AND ${weeks.contain('m.id')}
  ORDER BY r.message_id, r.n
  FOR UPDATE OF r
`

/** Slices continue behind the position; its week is the one that is erased. */
export async function eraseMessages(tx: Queryable, person: Person, start: SliceStart): Promise<SliceResult> {
  const week = await weekFrom(tx, 'recipients', start.position)
  if (week === null) return { deleted: {}, next: null }
  const weeks = weeksOf([idAt(week)])
  const parameters = [person.workspaceId, ...spellingParameters(person)]
  const from = start.position ?? idAt(week)
  const { rows } = await tx.query<FoundSpelling>(FIND(weeks), [...parameters, from])
  const spellings = rows.filter(({ address }) => isSpelling(person, address))
  const { rows: found } = await tx.query<FoundRecipient>(LOCK(weeks), [
    ...columnsOf(spellings, [({ id }) => id, ({ n }) => n]),
  ])
  const erased = await eraseFound(tx, { person, weeks, found, now: start.now })
  const isWeekDone = rows.length < SLICE
  return { ...erased, next: isWeekDone ? idAt(week + WEEK_MS) : (rows.at(-1)?.id ?? null) }
}

/** The week of the position, or the next one that is stored; null: there is none. */
async function weekFrom(tx: Queryable, table: PartitionedTable, position: string | null): Promise<number | null> {
  const weeks = await listWeeks(tx, table)
  return weeks.find((week) => position === null || idAt(week + WEEK_MS) > position) ?? null
}

interface Found {
  readonly person: Person
  readonly weeks: Weeks
  readonly found: readonly FoundRecipient[]
  readonly now: Date
}

/** Erases the messages that are settled once those of this person that wait are cancelled, and leaves the others. */
async function eraseFound(
  tx: Queryable,
  { person, weeks, found, now }: Found,
): Promise<Required<Omit<SliceResult, 'next'>>> {
  await cancelWaiting(tx, found, now)
  const open = await openAmong(tx, weeks, found)
  const settled = found.filter(({ id }) => !open.has(id))
  const alone = settled.filter(({ count }) => count === 1).map(({ id }) => id)
  const shared = settled.filter(({ count }) => count > 1)
  const deleted = alone.length === 0 ? {} : await deleteMessages(tx, weeks, alone)
  for (const recipient of shared) await eraseRecipient(tx, person, { weeks, recipient })
  return { deleted: { ...deleted, recipients: settled.length }, isWaiting: settled.length < found.length }
}

async function cancelWaiting(tx: Queryable, found: readonly FoundRecipient[], now: Date): Promise<void> {
  const drops = found
    .filter(({ isOpen, state }) => isOpen && isWaiting(state))
    .map(({ id: messageId, n }): Transition => ({
      messageId,
      n,
      move: 'drop',
      lease: null,
      reason: 'the recipient was erased',
      dueAt: null,
      isCounted: false,
      attempt: null,
      eventData: null,
    }))
  if (drops.length > 0) await applyTransitions(tx, drops, now)
}

/** Messages with a recipient that is open: of this person, or another who still needs the texts. */
async function openAmong(tx: Queryable, weeks: Weeks, found: readonly FoundRecipient[]): Promise<ReadonlySet<string>> {
  if (found.length === 0) return new Set()
  const { rows } = await tx.query<{ id: string }>(
    sql`
      SELECT DISTINCT r.message_id AS id
      FROM recipients r
      WHERE r.message_id = ANY ($1::uuid[]) AND r.is_open AND ${weeks.contain('r.message_id')}
    `,
    [found.map(({ id }) => id)],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Statements by message ids. */
const OF_MESSAGES = (weeks: Weeks): Readonly<Record<string, string>> => ({
  message_bodies: `DELETE FROM message_bodies WHERE message_id = ANY ($1::uuid[]) AND ${weeks.contain('message_id')}`,
  attachments: `DELETE FROM attachments WHERE message_id = ANY ($1::uuid[]) AND ${weeks.contain('message_id')}`,
  message_tags: `DELETE FROM message_tags WHERE message_id = ANY ($1::uuid[]) AND ${weeks.contain('message_id')}`,
  attempts: `DELETE FROM attempts WHERE message_id = ANY ($1::uuid[]) AND ${weeks.contain('message_id')}`,
  tracking_hits: 'DELETE FROM tracking_hits WHERE message_id = ANY ($1::uuid[])',
  inbound_reports: 'DELETE FROM inbound_reports WHERE message_id = ANY ($1::uuid[])',
  recipients: `DELETE FROM recipients WHERE message_id = ANY ($1::uuid[]) AND ${weeks.contain('message_id')}`,
  messages: `DELETE FROM messages WHERE id = ANY ($1::uuid[]) AND ${weeks.contain('id')}`,
})

async function deleteMessages(tx: Queryable, weeks: Weeks, ids: readonly string[]): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {}
  const events = await tx.query<{ id: string }>(
    `DELETE FROM events WHERE message_id = ANY ($1::uuid[]) AND ${weeks.precede('id')} RETURNING id`,
    [ids],
  )
  deleted['events'] = events.rows.length
  await deleteWebhooks(
    tx,
    events.rows.map(({ id }) => id),
  )
  for (const [table, statement] of Object.entries(OF_MESSAGES(weeks)))
    deleted[table] = (await tx.query(statement, [ids])).rowCount ?? 0
  return deleted
}

/** Deliveries of these events, and the logs with their bodies. */
export async function deleteWebhooks(tx: Queryable, eventIds: readonly string[]): Promise<void> {
  for (const table of ['webhook_attempts', 'webhook_deliveries'])
    await tx.query(`DELETE FROM ${table} WHERE event_id = ANY ($1::uuid[])`, [eventIds])
}

interface SharedRecipient {
  readonly weeks: Weeks
  readonly recipient: FoundRecipient
}

/** Removes one recipient from a message to several people. Its row stays, because the others are counted with it. */
async function eraseRecipient(tx: Queryable, person: Person, { weeks, recipient }: SharedRecipient): Promise<void> {
  const { id, n } = recipient
  const events = await tx.query<{ id: string }>(
    `DELETE FROM events WHERE message_id = $1 AND n = $2 AND ${weeks.precede('id')} RETURNING id`,
    [id, n],
  )
  await deleteWebhooks(
    tx,
    events.rows.map((event) => event.id),
  )
  for (const table of ['attempts', 'tracking_hits', 'inbound_reports']) {
    const bound = table === 'attempts' ? ` AND ${weeks.contain('message_id')}` : ''
    await tx.query(`DELETE FROM ${table} WHERE message_id = $1 AND n = $2${bound}`, [id, n])
  }
  await tx.query(
    sql`
      UPDATE recipients
      SET address = 'erased@erased.invalid', domain = 'erased.invalid', reason = NULL
      WHERE message_id = $1 AND n = $2 AND ${weeks.contain('message_id')}
    `,
    [id, n],
  )
  await eraseFromLists(tx, person, { weeks, id })
  await clearTexts(tx, { weeks, id })
}

interface MessageRef {
  readonly weeks: Weeks
  readonly id: string
}

async function eraseFromLists(tx: Queryable, { email }: Person, { weeks, id }: MessageRef): Promise<void> {
  const {
    rows: [lists],
  } = await tx.query<{ to: Mailbox[]; cc: Mailbox[] | null }>(
    `SELECT to_list AS "to", cc_list AS cc FROM messages WHERE id = $1 AND ${weeks.contain('id')} FOR UPDATE`,
    [id],
  )
  if (lists === undefined) return
  const mailbox = canonicalMailbox(email)
  const without = (list: readonly Mailbox[]): string =>
    JSON.stringify(list.filter((one) => canonicalMailbox(one.email) !== mailbox))
  await tx.query(
    `UPDATE messages SET to_list = $2::jsonb, cc_list = $3::jsonb WHERE id = $1 AND ${weeks.contain('id')}`,
    [id, without(lists.to), lists.cc === null ? null : without(lists.cc)],
  )
}

/** A text that was written to several people may name this one. It was sent to all of them. */
async function clearTexts(tx: Queryable, { weeks, id }: MessageRef): Promise<void> {
  await tx.query(
    sql`
      UPDATE messages m
      SET subject = '', html = NULL, body_text = NULL, raw = NULL, headers = NULL, metadata = NULL, submitted = NULL,
        params = NULL
      WHERE m.id = $1 AND ${weeks.contain('m.id')}
    `,
    [id],
  )
  for (const table of ['message_bodies', 'attachments']) await tx.query(OF_MESSAGES(weeks)[table] ?? '', [[id]])
}

const EVENTS = (weeks: Weeks): string => sql`
  SELECT id, recipient
  FROM events
  WHERE workspace_id = $1 AND ${matches('recipient', 2)} AND ${weeks.contain('id')} AND id > $3
  ORDER BY id
  LIMIT ${SLICE}
`

/** Events about the person that belong to no message, such as a subscription; one week at a time. */
export async function eraseEvents(tx: Queryable, person: Person, { position }: SliceStart): Promise<SliceResult> {
  const week = await weekFrom(tx, 'events', position)
  if (week === null) return { deleted: {}, next: null }
  const weeks = weeksOf([idAt(week)])
  const { rows } = await tx.query<{ id: string; recipient: string }>(EVENTS(weeks), [
    person.workspaceId,
    spellingPatterns(person),
    position ?? idAt(week),
  ])
  const ids = rows.filter(({ recipient }) => isSpelling(person, recipient)).map(({ id }) => id)
  await deleteWebhooks(tx, ids)
  if (ids.length > 0)
    await tx.query(`DELETE FROM events WHERE workspace_id = $1 AND id = ANY ($2::uuid[]) AND ${weeks.contain('id')}`, [
      person.workspaceId,
      ids,
    ])
  const isWeekDone = rows.length < SLICE
  return { deleted: { events: ids.length }, next: isWeekDone ? idAt(week + WEEK_MS) : (rows.at(-1)?.id ?? null) }
}
