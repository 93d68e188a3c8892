/**
 * Changes the state of recipients; only the claim (`claim.ts`), which also loads, is separate. One statement makes a
 * whole batch of transitions. Each UPDATE checks the old state, the lease and the time of the claim, so a worker that
 * lost its lease, is late, or repeats a batch whose response was lost changes nothing, even if it has claimed the
 * recipient again meanwhile. The statement also stores events, attempts and webhook deliveries.
 *
 * Two batches that change several recipients of the same messages may deadlock over the messages' event counters.
 * PostgreSQL then rolls back one of them, and the caller repeats it (`isTransactionConflict`).
 */
import { newDeliveries } from '#src/events/deliveries.ts'
import { newId } from '#src/platform/id.ts'
import type { CommitNotifications } from '#src/queue/notifications.ts'
import { jsonOrNull } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { defineInput, type BinaryColumn } from '#src/stores/binary-columns.ts'
import { expectOneRow, weekly, type WeeklyStatement, type Weeks } from '#src/stores/weeks.ts'
import { ATTEMPT_COLUMNS, ATTEMPT_INPUT, attemptParameter } from './attempt-input.ts'
import type { Attempt } from './outcome.ts'
import { refundQuotaCte } from './quota.ts'
import { isOpen, MOVES, type MoveName } from './state.ts'

export interface Transition {
  readonly messageId: string
  readonly n: number
  readonly move: MoveName
  /** The recipient must have this lease; null if the transition does not start from `sending`. */
  readonly lease: number | null
  /** The time of the claim that the transition ends; absent if it does not end just one claim. */
  readonly claimedAt?: Date | undefined
  /** The reason, for people; stored with the recipient. */
  readonly reason: string | null
  /** When it is due again; null leaves the due time as it is. */
  readonly dueAt: Date | null
  /** A server replied to this message, so the attempt counts. */
  readonly isCounted: boolean
  /** The attempt that this transition ends, if there was one. */
  readonly attempt: { readonly number: number; readonly record: Attempt } | null
  /** `data` of the events that this transition emits. */
  readonly eventData: object | null
  /** The id of the last event it emits, if another record refers to it; by default a new id. */
  readonly eventId?: string
}

/** The cancellation of a recipient that waits for the time that its sender set. */
export function cancellationOf(messageId: string, n: number, reason: string): Transition {
  return {
    messageId,
    n,
    move: 'cancel',
    lease: null,
    reason,
    dueAt: null,
    isCounted: false,
    attempt: null,
    eventData: null,
  }
}

export interface TransitionResult extends CommitNotifications {
  /** The indexes of the transitions that were made. The others found another state or lease. */
  readonly done: ReadonlySet<number>
}

/**
 * Whether the statement also updates the ledgers of campaigns. A batch without campaign mail saves that lookup.
 */
export type LedgerUpdate = 'follow' | 'none'

/** A transition with the ids of the events that it emits. */
interface Moving extends Transition {
  readonly eventIds: readonly string[]
}

/** The most events that a transition emits, and their places. */
const EVENT_PLACES = [...Array(Math.max(...Object.values(MOVES).map(({ emits }) => emits.length))).keys()]

/** All that a transition writes is in its row: rows of their own for attempts and events would have to be joined. */
const TRANSITION_INPUT: Readonly<Record<string, BinaryColumn<Moving>>> = {
  message_id: ['uuid', (m) => m.messageId],
  n: ['smallint', (m) => m.n],
  from_states: ['text', (m) => MOVES[m.move].from.join(',')],
  to_state: ['text', (m) => MOVES[m.move].to],
  is_open: ['boolean', (m) => isOpen(MOVES[m.move].to)],
  lease: ['bigint', (m) => m.lease],
  claimed_at: ['timestamptz', (m) => m.claimedAt ?? null],
  due_at: ['timestamptz', (m) => m.dueAt],
  reason: ['text', (m) => m.reason],
  counted: ['smallint', (m) => (m.isCounted ? 1 : 0)],
  released: ['smallint', (m) => (m.move === 'release' ? 1 : 0)],
  event_count: ['smallint', (m) => eventsOf(m).length],
  event_data: ['text', (m) => jsonOrNull(m.eventData)],
  ...Object.fromEntries(
    EVENT_PLACES.flatMap((k): [string, BinaryColumn<Moving>][] => [
      [`event_id_${k}`, ['uuid', (m) => m.eventIds[k] ?? null]],
      [`event_type_${k}`, ['text', (m) => eventsOf(m)[k] ?? null]],
    ]),
  ),
  ...ATTEMPT_INPUT,
}

/** What a ledger stores for a recipient in a state; for the other states it stores that the mail was dispatched. */
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

interface LedgerRow {
  readonly state: string | null
  readonly bounceType: string | null
}

const LEDGER_INPUT: Readonly<Record<string, BinaryColumn<LedgerRow>>> = {
  ledger_state: ['text', ({ state }) => state],
  bounce_type: ['text', ({ bounceType }) => bounceType],
}

/** The parameters of the statement, in this order; the ledger's only where it follows. */
const TRANSITIONS = defineInput(1, TRANSITION_INPUT)
const NOW = `$${TRANSITIONS.nextParameter}`
const LEDGER = defineInput(TRANSITIONS.nextParameter + 1, LEDGER_INPUT)

const ATTEMPT_PARAMETERS = ATTEMPT_COLUMNS.map(attemptParameter)
const EVENT_PARAMETERS = ['event_data', ...EVENT_PLACES.flatMap((k) => [`event_id_${k}`, `event_type_${k}`])]
const EMITTED = EVENT_PLACES.map((k) => `(${k + 1}, v.event_id_${k}, v.event_type_${k})`).join(', ')
const qualified = (alias: string, names: readonly string[]): string => names.map((one) => `${alias}.${one}`).join(', ')

/**
 * The columns of a ledger row that follow its recipient. A retry has another message, so the ledger no longer follows
 * the earlier message.
 */
const UPDATE_LEDGER = sql`
  , ledger AS (
    UPDATE campaign_recipients l SET
      state = v.ledger_state,
      reason = v.reason,
      delivered_at = CASE v.ledger_state WHEN 'delivered' THEN ${NOW} WHEN 'bounced' THEN NULL ELSE l.delivered_at END,
      bounced_at = CASE v.ledger_state WHEN 'bounced' THEN ${NOW} ELSE l.bounced_at END,
      bounce_type = CASE v.ledger_state WHEN 'bounced' THEN v.bounce_type ELSE l.bounce_type END,
      failed_at = CASE v.ledger_state WHEN 'failed' THEN ${NOW} ELSE l.failed_at END
    FROM moved v
    WHERE v.campaign_id IS NOT NULL AND v.ledger_state IS NOT NULL AND l.message_id = v.message_id
  )`

interface LedgerParts {
  readonly arrays: string
  readonly names: string
  readonly returned: string
  readonly update: string
}

const LEDGER_PARTS: Readonly<Record<LedgerUpdate, LedgerParts>> = {
  none: { arrays: '', names: '', returned: '', update: '' },
  follow: {
    arrays: `, ${LEDGER.arrays}`,
    names: `, ${LEDGER.names}`,
    returned: ', r.reason, r.campaign_id, i.ledger_state, i.bounce_type',
    update: UPDATE_LEDGER,
  },
}

/** What is cancelled before its first attempt does not count in the quota. */
const CANCELLED = `cancelled AS (SELECT workspace_id, message_id, attempts FROM moved WHERE to_state = 'cancelled')`
const CANCEL_PARTS: LedgerParts = {
  ...LEDGER_PARTS.follow,
  returned: `${LEDGER_PARTS.follow.returned}, i.to_state, r.attempts`,
  update: `${UPDATE_LEDGER}, ${CANCELLED}, ${refundQuotaCte('cancelled')}`,
}

function statementOf({ arrays, names, returned, update }: LedgerParts, weeks: Weeks): string {
  return sql`
    WITH input AS (
      SELECT *
      FROM unnest(${TRANSITIONS.arrays}${arrays}) WITH ORDINALITY AS i (${TRANSITIONS.names}${names}, ord)
      WHERE ${expectOneRow('ord')}
    ), moved AS (
      UPDATE recipients r SET
        state = i.to_state,
        is_open = i.is_open,
        lease = NULL,
        due_at = coalesce(i.due_at, r.due_at),
        tries = r.tries + i.counted,
        attempts = r.attempts - i.released,
        reason = i.reason,
        updated_at = ${NOW},
        sequence = CASE WHEN r.is_only THEN r.sequence + i.event_count ELSE r.sequence END
      FROM input i
      WHERE r.message_id = i.message_id AND r.n = i.n AND ${weeks.contain('r.message_id')}
        AND r.state = ANY (string_to_array(i.from_states, ','))
        AND (i.lease IS NULL OR r.lease = i.lease)
        AND (i.claimed_at IS NULL OR r.updated_at = i.claimed_at)
      RETURNING i.ord, i.event_count, r.message_id, r.n, r.workspace_id, r.address, r.is_only, r.sequence,
        ${qualified('i', [...EVENT_PARAMETERS, ...ATTEMPT_PARAMETERS])}${returned}
    ), shared AS (
      UPDATE messages m SET event_count = m.event_count + s.events
      FROM (SELECT message_id, sum(event_count) AS events FROM moved WHERE NOT is_only GROUP BY message_id) s
      WHERE m.id = s.message_id AND ${weeks.contain('m.id')}
      RETURNING m.id, m.event_count - s.events AS base
    ), numbered AS (
      SELECT v.message_id, v.n, v.workspace_id, v.address, v.event_count, ${qualified('v', EVENT_PARAMETERS)},
        CASE WHEN v.is_only THEN v.sequence - v.event_count
          ELSE s.base + sum(v.event_count) OVER (PARTITION BY v.message_id ORDER BY v.ord) - v.event_count END AS base
      FROM moved v
      LEFT JOIN shared s ON s.id = v.message_id
    ), new_attempts AS (
      INSERT INTO attempts (message_id, n, ${ATTEMPT_COLUMNS.join(', ')})
      SELECT message_id, n, ${ATTEMPT_PARAMETERS.join(', ')}
      FROM moved
      WHERE ${attemptParameter('attempt')} IS NOT NULL
    ), new_events AS (
      INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
      SELECT e.id, v.workspace_id, e.type, v.message_id, v.n, v.base + e.k, v.address, v.event_data::jsonb, ${NOW}
      FROM numbered v
      CROSS JOIN LATERAL (VALUES ${EMITTED}) AS e (k, id, type)
      WHERE e.k <= v.event_count
      RETURNING id, workspace_id, type
    ), ${newDeliveries(NOW)}${update}
    SELECT ARRAY(SELECT ord FROM moved) AS done,
      (SELECT count(*) FROM new_deliveries) AS deliveries,
      ARRAY(SELECT DISTINCT workspace_id::text FROM moved WHERE event_count > 0) AS workspaces`
}

const STATEMENTS: Readonly<Record<LedgerUpdate, WeeklyStatement>> = {
  none: weekly('recipients-move', (weeks) => statementOf(LEDGER_PARTS.none, weeks)),
  follow: weekly('recipients-move-with-ledger', (weeks) => statementOf(LEDGER_PARTS.follow, weeks)),
}
const CANCEL_STATEMENT = weekly('recipients-cancel', (weeks) => statementOf(CANCEL_PARTS, weeks))

interface ResultRow {
  readonly done: (string | number)[]
  readonly deliveries: number
  readonly workspaces: string[]
}

/**
 * Makes a batch of transitions in one statement, which is one transaction. A recipient may be in a batch once. The
 * ledgers of campaigns follow; a caller that knows the batch has no mail of a campaign passes `none`. Recipients that
 * are cancelled before their first attempt are taken back from the quota.
 */
export async function applyTransitions(
  db: Queryable,
  moves: readonly Transition[],
  now: Date,
  ledgers: LedgerUpdate = 'follow',
): Promise<TransitionResult> {
  const cancels = moves.some(({ move }) => MOVES[move].to === 'cancelled')
  const statement = cancels ? CANCEL_STATEMENT : STATEMENTS[ledgers]
  const values = [
    ...TRANSITIONS.parametersOf(moves.map((moving) => ({ ...moving, eventIds: eventIdsOf(moving, now) }))),
    now,
    ...(ledgers === 'none' && !cancels ? [] : LEDGER.parametersOf(moves.map((moving) => ledgerRowOf(moving, now)))),
  ]
  const {
    rows: [row],
  } = await db.query<ResultRow>(statement.for(moves.map(({ messageId }) => messageId)), values)
  return {
    done: new Set(row?.done.map((ordinality) => Number(ordinality) - 1)),
    hasDeliveries: (row?.deliveries ?? 0) > 0,
    workspaces: row?.workspaces ?? [],
  }
}

function eventsOf({ move }: Transition): readonly string[] {
  return MOVES[move].emits
}

/** A recipient that is released until later counts as deferred: its campaign does not wait for it. */
function ledgerRowOf({ move, dueAt, eventData }: Transition, now: Date): LedgerRow {
  const to = MOVES[move].to
  const isHard = eventData !== null && 'bounce_type' in eventData && eventData.bounce_type === 'hard'
  return {
    state: LEDGER_STATES[to] ?? (dueAt !== null && dueAt > now ? 'deferred' : null),
    bounceType: to !== 'bounced' ? null : isHard ? 'hard' : 'soft',
  }
}

/** The ids of its events, in their order. */
function eventIdsOf(moving: Transition, now: Date): string[] {
  return eventsOf(moving).map(
    (_, k, { length }) => (k === length - 1 ? moving.eventId : undefined) ?? newId(now.getTime()),
  )
}
