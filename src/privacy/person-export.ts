/**
 * Reads everything that a workspace stores about a person, in all spellings of the mailbox, object by object: few rows
 * are in memory at a time. Messages follow in the order of their ids, each with its texts, attachments, attempts and
 * events of this person, so that an export that broke off continues after the last message. Other recipients of a
 * message are not included.
 */
import { idAt } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { recordChange } from '#src/stores/audit.ts'
import { bodyColumn, COMPRESSED_BODY, joinBody } from '#src/messages/bodies.ts'
import { decompressBody } from '#src/messages/body-compression.ts'
import { WEEK_MS } from '#src/stores/partition-names.ts'
import { listWeeks } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { type Weeks, weeksOf } from '#src/stores/weeks.ts'
import { isSpelling, matches, type Person, spelled, spellingParameters, spellingPatterns } from './person.ts'

/** `kind` is the name of a section, and the fields of `data` are those of the tables. */
export interface StoredObject {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
}

interface Section {
  readonly kind: string
  /** Returns `address`, of which it checks the spelling, and `data`. Parameters: workspace, spellings. */
  readonly text: string
  /** Its addresses have no index: the only parameter besides the workspace is the pattern. */
  readonly readsAll?: boolean
}

/** Mail that the person sent to the workspace, by the From address, then by the envelope sender. */
const RECEIVED = (column: string, others: string): string => sql`
  SELECT e.${column} AS address,
    to_jsonb(e) - '{workspace_id,raw,due_at,tries}'::text[]
    || jsonb_build_object('raw_base64', encode(e.raw, 'base64')) AS data
  FROM ${spelled({
    table: 'received_emails',
    as: 'e',
    column,
    indexed: column === 'mail_from' ? 'lower(t.mail_from) COLLATE "C"' : `t.${column}`,
    where: others,
  })}
`

const SECTIONS: readonly Section[] = [
  {
    kind: 'contact',
    text: sql`
      SELECT c.email AS address,
        to_jsonb(c) - '{workspace_id,given}'::text[] || jsonb_build_object('memberships', (
          SELECT coalesce(jsonb_agg(jsonb_build_object('audience', a.name, 'audience_id', a.id,
            'is_subscribed', m.is_subscribed, 'created_at', m.created_at, 'updated_at', m.updated_at)), '[]')
          FROM memberships m
          JOIN audiences a ON a.id = m.audience_id
          WHERE m.contact_id = c.id
        ), 'automations', (
          SELECT coalesce(jsonb_agg(to_jsonb(e) - '{workspace_id,contact_id}'::text[]), '[]')
          FROM enrolments e
          WHERE e.contact_id = c.id AND e.workspace_id = c.workspace_id
        ), 'changes', (
          SELECT coalesce(jsonb_agg(jsonb_build_object('id', h.id, 'changes', h.changes) ORDER BY h.id), '[]')
          FROM contact_changes h
          WHERE h.contact_id = c.id
        ), 'campaigns', (
          SELECT coalesce(jsonb_agg(to_jsonb(r) - '{workspace_id,contact_id}'::text[]), '[]')
          FROM campaigns k
          JOIN campaign_recipients r ON r.campaign_id = k.id
          WHERE k.workspace_id = c.workspace_id AND r.contact_id = c.id
        )) AS data
      FROM ${spelled({ table: 'contacts', as: 'c', column: 'email' })}
    `,
  },
  {
    kind: 'suppression',
    text: sql`
      SELECT s.address, to_jsonb(s) - 'workspace_id' AS data
      FROM ${spelled({ table: 'suppressions', as: 's', column: 'address' })}
    `,
  },
  {
    kind: 'pending_suppression',
    text: sql`
      SELECT s.address, to_jsonb(s) - 'workspace_id' AS data
      FROM ${spelled({ table: 'held_suppressions', as: 's', column: 'address' })}
    `,
  },
  {
    kind: 'automation_call',
    readsAll: true,
    text: sql`
      SELECT c.body::jsonb #>> '{contact,email}' AS address,
        to_jsonb(c) - '{workspace_id,lane,leased_until}'::text[] AS data
      FROM automations a
      JOIN automation_calls c ON c.automation_id = a.id
      WHERE a.workspace_id = $1 AND ${matches(`c.body::jsonb #>> '{contact,email}'`, 2)}
    `,
  },
  {
    kind: 'captured_email',
    readsAll: true,
    text: sql`
      SELECT b.rcpt_to AS address,
        to_jsonb(b) - '{workspace_id,raw}'::text[] || jsonb_build_object('raw_base64', encode(b.raw, 'base64')) AS data
      FROM sandbox_inbox b
      WHERE b.workspace_id = $1 AND ${matches('b.rcpt_to', 2)}
    `,
  },
  { kind: 'received_email', text: RECEIVED('from_address', 'true') },
  { kind: 'received_email', text: RECEIVED('mail_from', 't.from_address <> lower(t.mail_from)') },
]

const SLICE = 50

const ATTACHMENT = sql`
  jsonb_build_object(
    'filename', a.filename, 'content_type', a.content_type, 'content_base64', encode(a.content, 'base64')
  )`

/** Not of confidential mail: its link would give more rights than the export needs. */
const ownBody = (name: 'html' | 'body_text' | 'raw'): string =>
  `CASE WHEN NOT m.is_confidential THEN ${bodyColumn(name)} END`

const MESSAGES = (weeks: Weeks): string => sql`
  SELECT r.message_id AS id, r.address, CASE WHEN NOT m.is_confidential THEN ${COMPRESSED_BODY} END AS compressed,
    to_jsonb(m) - '{workspace_id,raw,has_body_row,to_list,cc_list,api_key_id,event_count}'::text[]
    || jsonb_build_object(
      'html', ${ownBody('html')},
      'body_text', ${ownBody('body_text')},
      'raw_base64', encode(${ownBody('raw')}, 'base64'),
      'recipient', to_jsonb(r) - '{workspace_id,lease,message_id}'::text[],
      'attachments', (
        SELECT coalesce(jsonb_agg(${ATTACHMENT}), '[]')
        FROM attachments a
        WHERE a.message_id = r.message_id AND ${weeks.contain('a.message_id')}
      ),
      'attempts', (
        SELECT coalesce(jsonb_agg(to_jsonb(t) - 'message_id'), '[]')
        FROM attempts t
        WHERE t.message_id = r.message_id AND t.n = r.n AND ${weeks.contain('t.message_id')}
      ),
      'reports', (
        SELECT coalesce(jsonb_agg(to_jsonb(i) - '{message_id,raw}'::text[]
          || jsonb_build_object('raw_base64', encode(i.raw, 'base64'))), '[]')
        FROM inbound_reports i
        WHERE i.message_id = r.message_id AND i.n = r.n
      ),
      'events', (
        SELECT coalesce(jsonb_agg(to_jsonb(e) - '{workspace_id,tx,message_id}'::text[]), '[]')
        FROM events e
        WHERE e.message_id = r.message_id AND e.n = r.n AND ${weeks.precede('e.id')}
      )
    ) AS data
  FROM ${spelled({
    table: 'recipients',
    as: 'r',
    column: 'address',
    indexed: 'lower(t.address) COLLATE "C"',
    where: `${weeks.contain('t.message_id')} AND t.message_id > $5`,
  })}
  JOIN messages m ON m.id = r.message_id AND ${weeks.contain('m.id')}
  ${joinBody(weeks)}
  ORDER BY r.message_id
  FETCH FIRST ${SLICE} ROWS WITH TIES
`

const EVENTS = (weeks: Weeks): string => sql`
  SELECT e.message_id AS "messageId", e.recipient AS address, to_jsonb(e) - '{workspace_id,tx}'::text[] AS data
  FROM events e
  WHERE e.workspace_id = $1 AND ${matches('e.recipient', 2)} AND ${weeks.contain('e.id')}
  ORDER BY e.id
`

interface FoundRow {
  readonly address: string
  readonly data: Readonly<Record<string, unknown>>
}

interface FoundMessage extends FoundRow {
  readonly id: string
  readonly compressed: Buffer | null
}

interface FoundEvent extends FoundRow {
  readonly messageId: string | null
}

/** `after`: the id of a message; what precedes it was read before. */
export async function* readPerson(
  db: Queryable,
  person: Person,
  after: string | null = null,
): AsyncGenerator<StoredObject> {
  if (after === null)
    for (const { kind, text, readsAll } of SECTIONS) {
      const spellings = readsAll === true ? [spellingPatterns(person)] : spellingParameters(person)
      yield* objectsOf(person, kind, (await db.query<FoundRow>(text, [person.workspaceId, ...spellings])).rows)
    }
  yield* readMessages(db, person, after)
  for (const week of await listWeeks(db, 'events'))
    yield* objectsOf(person, 'event', await readEvents(db, person, week))
}

/** Events of no message, or of one that retention deleted before them. */
async function readEvents(db: Queryable, person: Person, week: number): Promise<FoundEvent[]> {
  const { rows } = await db.query<FoundEvent>(EVENTS(weeksOf([idAt(week)])), [
    person.workspaceId,
    spellingPatterns(person),
  ])
  const ids = [...new Set(rows.flatMap(({ messageId }) => messageId ?? []))]
  if (ids.length === 0) return rows
  const stored = await db.query<{ id: string }>(
    `SELECT id FROM messages WHERE id = ANY ($1::uuid[]) AND ${weeksOf(ids).contain('id')}`,
    [ids],
  )
  const messages = new Set(stored.rows.map(({ id }) => id))
  return rows.filter(({ messageId }) => messageId === null || !messages.has(messageId))
}

function objectsOf(person: Person, kind: string, rows: readonly FoundRow[]): StoredObject[] {
  return rows.filter(({ address }) => isSpelling(person, address)).map(({ data }) => ({ kind, data }))
}

function withBody({ compressed, data, ...row }: FoundMessage): FoundRow {
  if (compressed === null) return { ...row, data }
  const { html = null, text = null, raw = null } = decompressBody(compressed) ?? {}
  return { ...row, data: { ...data, html, body_text: text, raw_base64: raw?.toString('base64') ?? null } }
}

async function* readMessages(db: Queryable, person: Person, after: string | null): AsyncGenerator<StoredObject> {
  const parameters = [person.workspaceId, ...spellingParameters(person)]
  for (const week of await listWeeks(db, 'recipients')) {
    let last = after === null || after < idAt(week) ? idAt(week) : after
    if (last >= idAt(week + WEEK_MS)) continue
    for (let isMore = true; isMore;) {
      const { rows } = await db.query<FoundMessage>(MESSAGES(weeksOf([idAt(week)])), [...parameters, last])
      yield* objectsOf(person, 'message', rows.map(withBody))
      isMore = rows.length >= SLICE
      last = rows.at(-1)?.id ?? last
    }
  }
}

/** Records that somebody exported what is stored about a person: with a hash of the address, never the address. */
export async function recordExport(db: Db, { workspaceId, email }: Person): Promise<void> {
  await db.transaction(async (tx) => {
    const {
      rows: [row],
    } = await tx.query<{ hash: string }>(`SELECT encode(erased_address($1, lower($2)), 'hex') AS hash`, [
      workspaceId,
      email,
    ])
    const object = `sha256:${row?.hash ?? ''}`
    await recordChange(tx, { kind: 'person_export', object, workspaceId, change: 'create', before: null, after: null })
  })
}
