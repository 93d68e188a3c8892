/**
 * The only writer of a recipient's state after its beginning (the claim, which also loads, stands beside it in `claim.ts`).
 * One statement for a whole batch: each UPDATE names the states it may leave and the lease it was held under, so a worker that lost its lease,
 * came late, or repeats a batch whose answer was lost, changes nothing. Events, attempts and webhook deliveries are written with it.
 *
 * Two batches that touch several recipients of the same messages may deadlock over the messages' event counters; PostgreSQL
 * ends one of them whole, and it is done again (`isWorthRepeating`).
 */
import { binaryColumnsOf, type Column } from '#src/binary-columns.ts'
import { jsonOrNull } from '#src/columns.ts'
import { prepared, type Queryable, type Statement } from '#src/db.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import type { News } from '#src/events/news.ts'
import { newId } from '#src/id.ts'
import type { Attempt } from './outcome.ts'
import { isOpen, MOVES, type EventType, type MoveName } from './state.ts'

export interface Moving {
  readonly messageId: string
  readonly n: number
  readonly move: MoveName
  /** Must be held under this lease; null where the move does not start from `sending`. */
  readonly lease: number | null
  /** Why, for people; kept on the recipient. */
  readonly reason: string | null
  /** When it is due again; null keeps the due time. */
  readonly dueAt: Date | null
  /** A real answer to this message was given: one of its tries is used up. */
  readonly isCounted: boolean
  /** The attempt this move ends, when there was one. */
  readonly attempt: { readonly number: number; readonly record: Attempt } | null
  /** `data` of the events this move emits. */
  readonly eventData: object | null
  /** Of the last event it emits, where something else names it; a new id when not given. */
  readonly eventId?: string
}

export interface Moved extends News {
  /** The moves that were carried out, by their place in the batch; the others had nothing to change. */
  readonly done: ReadonlySet<number>
}

/** Whether a batch may hold mail of campaigns, whose ledgers follow in the same statement; mail without one is spared the looking. */
export type Ledgers = 'follow' | 'none'

const INPUT = 'message_id, n, from_states, to_state, is_open, lease, due_at, reason, counted, released, event_count'
const LEDGER_INPUT = ', $33::text[], $34::text[]'

/** What of a ledger row follows its recipient; a retry has another message, so the ledger hears no more of the one before. */
const FOLLOW = `, ledger AS (
  UPDATE campaign_recipients l SET state = v.ledger_state, reason = v.reason,
    delivered_at = CASE v.ledger_state WHEN 'delivered' THEN $12 WHEN 'bounced' THEN NULL ELSE l.delivered_at END,
    bounced_at = CASE v.ledger_state WHEN 'bounced' THEN $12 ELSE l.bounced_at END,
    bounce_type = CASE v.ledger_state WHEN 'bounced' THEN v.bounce_type ELSE l.bounce_type END,
    failed_at = CASE v.ledger_state WHEN 'failed' THEN $12 ELSE l.failed_at END
  FROM moved v WHERE v.campaign_id IS NOT NULL AND v.ledger_state IS NOT NULL AND l.message_id = v.message_id
)`

const moveText = (ledgers: Ledgers): string => `
WITH input AS (
  SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::timestamptz[], $8::text[], $9::smallint[], $10::smallint[], $11::smallint[]${ledgers === 'follow' ? LEDGER_INPUT : ''})
    WITH ORDINALITY AS i (${INPUT}${ledgers === 'follow' ? ', ledger_state, bounce_type' : ''}, ord)
), moved AS (
  UPDATE recipients r SET state = i.to_state, is_open = i.is_open, lease = NULL, due_at = coalesce(i.due_at, r.due_at), tries = r.tries + i.counted, attempts = r.attempts - i.released,
    reason = i.reason, updated_at = $12, sequence = CASE WHEN r.is_only THEN r.sequence + i.event_count ELSE r.sequence END
  FROM input i
  WHERE r.message_id = i.message_id AND r.n = i.n
    AND r.state = ANY (string_to_array(i.from_states, ',')) AND (i.lease IS NULL OR r.lease = i.lease)
  RETURNING i.ord, i.event_count, r.message_id, r.n, r.workspace_id, r.address, r.is_only, r.sequence${ledgers === 'follow' ? ', r.reason, r.campaign_id, i.ledger_state, i.bounce_type' : ''}
), shared AS (
  UPDATE messages m SET event_count = m.event_count + s.events
  FROM (SELECT message_id, sum(event_count) AS events FROM moved WHERE NOT is_only GROUP BY message_id) s
  WHERE m.id = s.message_id
  RETURNING m.id, m.event_count - s.events AS base
), numbered AS (
  SELECT v.ord, v.message_id, v.n, v.workspace_id, v.address, CASE WHEN v.is_only THEN v.sequence - v.event_count
    ELSE s.base + sum(v.event_count) OVER (PARTITION BY v.message_id ORDER BY v.ord) - v.event_count END AS base
  FROM moved v LEFT JOIN shared s ON s.id = v.message_id
), new_attempts AS (
  INSERT INTO attempts (message_id, n, attempt, at, outcome, scope, reason, reply_code, reply_status, reply_text, host, address, source, tls, duration_ms, conversation)
  SELECT v.message_id, v.n, a.attempt, a.at, a.outcome, a.scope, a.reason, a.reply_code, a.reply_status, a.reply_text, a.host, a.address, a.source, a.tls, a.duration_ms, a.conversation
  FROM unnest($13::bigint[], $14::smallint[], $15::timestamptz[], $16::text[], $17::text[], $18::text[], $19::smallint[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::integer[], $27::text[])
    AS a (ord, attempt, at, outcome, scope, reason, reply_code, reply_status, reply_text, host, address, source, tls, duration_ms, conversation)
  JOIN moved v ON v.ord = a.ord
), new_events AS (
  INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
  SELECT e.id, v.workspace_id, e.type, v.message_id, v.n, v.base + e.k, v.address, e.data::jsonb, $12
  FROM unnest($28::bigint[], $29::smallint[], $30::uuid[], $31::text[], $32::text[]) AS e (ord, k, id, type, data)
  JOIN numbered v ON v.ord = e.ord
  RETURNING id, workspace_id, type
), ${newDeliveries('$12')}${ledgers === 'follow' ? FOLLOW : ''}
SELECT ARRAY(SELECT ord FROM moved) AS done, (SELECT count(*) FROM new_deliveries) AS deliveries,
  ARRAY(SELECT DISTINCT workspace_id::text FROM moved WHERE event_count > 0) AS workspaces`

const STATEMENTS: Readonly<Record<Ledgers, Statement>> = {
  none: prepared('recipients-move', moveText('none')),
  follow: prepared('recipients-move-with-ledger', moveText('follow')),
}

/**
 * Carries out a batch of moves in one statement, which is one transaction. A recipient may stand in a batch once. The ledgers of campaigns
 * follow; only who knows that the batch has no mail of a campaign says `none`.
 */
export async function moveRecipients(
  db: Queryable,
  moves: readonly Moving[],
  now: Date,
  ledgers: Ledgers = 'follow',
): Promise<Moved> {
  const plain = [...binaryColumnsOf(moves, MOVE_COLUMNS), now, ...attemptColumns(moves), ...eventColumns(moves, now)]
  const values = ledgers === 'none' ? plain : [...plain, ...ledgerColumns(moves, now)]
  const {
    rows: [row],
  } = await db.query<{ done: (string | number)[]; deliveries: number; workspaces: string[] }>(
    STATEMENTS[ledgers],
    values,
  )
  return {
    done: new Set(row?.done.map((ordinality) => Number(ordinality) - 1)),
    hasDeliveries: (row?.deliveries ?? 0) > 0,
    workspaces: row?.workspaces ?? [],
  }
}

/** A deadlock or serialisation failure: PostgreSQL undid the batch whole and it may simply be done again. */
export function isWorthRepeating(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '40P01' || error.code === '40001')
}

function emitted(moving: Moving): readonly EventType[] {
  return MOVES[moving.move].emits
}

/** In the order of the statement. */
const MOVE_COLUMNS: readonly Column<Moving>[] = [
  ['uuid', (m) => m.messageId],
  ['smallint', (m) => m.n],
  ['text', (m) => MOVES[m.move].from.join(',')],
  ['text', (m) => MOVES[m.move].to],
  ['boolean', (m) => isOpen(MOVES[m.move].to)],
  ['bigint', (m) => m.lease],
  ['timestamptz', (m) => m.dueAt],
  ['text', (m) => m.reason],
  ['smallint', (m) => (m.isCounted ? 1 : 0)],
  ['smallint', (m) => (m.move === 'release' ? 1 : 0)],
  ['smallint', (m) => emitted(m).length],
]

/** What a ledger says of a recipient in a state; of those that are not here it says that it was dispatched. */
const LEDGER_STATES: Readonly<Record<string, string>> = {
  deferred: 'deferred',
  unknown: 'deferred',
  sent: 'sent',
  delivered: 'delivered',
  captured: 'delivered',
  bounced: 'bounced',
  failed: 'failed',
  suppressed: 'suppressed',
  cancelled: 'cancelled',
}

/** What is given back for later waits as what was deferred does: it is not in the way of others. */
function ledgerColumns(moves: readonly Moving[], now: Date): Buffer[] {
  return binaryColumnsOf(moves, [
    ['text', ({ move, dueAt }) => LEDGER_STATES[MOVES[move].to] ?? (dueAt !== null && dueAt > now ? 'deferred' : null)],
    [
      'text',
      ({ move, eventData }) =>
        MOVES[move].to !== 'bounced'
          ? null
          : eventData !== null && 'bounce_type' in eventData && eventData.bounce_type === 'hard'
            ? 'hard'
            : 'soft',
    ],
  ])
}

type Tried = Attempt & { readonly ord: number; readonly number: number }

const ATTEMPT_COLUMNS: readonly Column<Tried>[] = [
  ['bigint', (a) => a.ord],
  ['smallint', (a) => a.number],
  ['timestamptz', (a) => new Date(a.startedAt)],
  ['text', (a) => a.outcome.kind],
  ['text', (a) => ('scope' in a.outcome ? a.outcome.scope : null)],
  ['text', (a) => ('reason' in a.outcome ? a.outcome.reason : null)],
  ['smallint', (a) => replyOf(a)?.code ?? null],
  ['text', (a) => replyOf(a)?.enhanced ?? null],
  ['text', (a) => replyOf(a)?.text ?? detailOf(a)],
  ['text', (a) => a.host],
  ['text', (a) => a.address],
  ['text', (a) => a.source],
  ['text', (a) => a.tls],
  ['integer', (a) => Math.round(a.durationMs)],
  ['text', (a) => a.conversation],
]

function attemptColumns(moves: readonly Moving[]): Buffer[] {
  const rows = moves.flatMap(({ attempt }, i) =>
    attempt === null ? [] : [{ ...attempt.record, ord: i + 1, number: attempt.number }],
  )
  return binaryColumnsOf(rows, ATTEMPT_COLUMNS)
}

function replyOf({ outcome }: Attempt): { code: number; enhanced: string | null; text: string } | null {
  return 'reply' in outcome ? outcome.reply : null
}

function detailOf({ outcome }: Attempt): string | null {
  return 'detail' in outcome ? outcome.detail : null
}

function eventColumns(moves: readonly Moving[], now: Date): Buffer[] {
  const rows = moves.flatMap((moving, i) =>
    emitted(moving).map((type, k, { length }) => ({
      ord: i + 1,
      k: k + 1,
      id: (k === length - 1 ? moving.eventId : undefined) ?? newId(now.getTime()),
      type,
      data: jsonOrNull(moving.eventData),
    })),
  )
  return binaryColumnsOf(rows, [
    ['bigint', (e) => e.ord],
    ['smallint', (e) => e.k],
    ['uuid', (e) => e.id],
    ['text', (e) => e.type],
    ['text', (e) => e.data],
  ])
}
