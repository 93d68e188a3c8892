/**
 * The kind of an event: all that is counted of the event itself, and its minute. PostgreSQL groups recipients by the
 * kinds of their events, so it makes a number of each: `codeOf` is the expression that computes it, and `kindsOf` reads
 * an array of them. Codes are never stored, so they may change with the version.
 */
import { sql } from '#src/stores/sql.ts'
import type { CounterName } from './dimensions.ts'

export interface EventKind {
  readonly type: string
  /** The start of the minute. */
  readonly at: Date
  /** Of a bounce: hard. */
  readonly isHard: boolean
  /** Of an open or a click. */
  readonly isMachine: boolean
  readonly isFirst: boolean
  /** Of a failure: its address is suppressed. */
  readonly isSuppressed: boolean
}

const SIMPLE: Readonly<Record<string, CounterName>> = {
  'email.queued': 'accepted',
  'email.scheduled': 'accepted',
  'email.sent': 'sent',
  'email.delivered': 'delivered',
  'email.deferred': 'deferred',
  'email.complained': 'complained',
  'email.unsubscribed': 'unsubscribed',
  'email.cancelled': 'cancelled',
}
const BY_DETAIL: Readonly<Record<string, (kind: EventKind) => readonly CounterName[]>> = {
  'email.bounced': ({ isHard }) => [isHard ? 'bounced_hard' : 'bounced_soft'],
  'email.failed': ({ isSuppressed }) => [isSuppressed ? 'suppressed' : 'failed'],
  'email.opened': ({ isMachine, isFirst }) =>
    isMachine ? ['opened_machine'] : isFirst ? ['opened', 'opened_unique'] : ['opened'],
  'email.clicked': ({ isMachine, isFirst }) =>
    isMachine ? ['clicked_machine'] : isFirst ? ['clicked', 'clicked_unique'] : ['clicked'],
}

/** The types of events that are counted. */
export const COUNTED_TYPES = [...Object.keys(SIMPLE), ...Object.keys(BY_DETAIL)]

export function countersOf(kind: EventKind): readonly CounterName[] {
  if (!Object.hasOwn(SIMPLE, kind.type))
    return Object.hasOwn(BY_DETAIL, kind.type) ? (BY_DETAIL[kind.type]?.(kind) ?? []) : []
  const simple = SIMPLE[kind.type]
  return simple === undefined ? [] : [simple]
}

const BEFORE_ATTEMPTS = ['email.queued', 'email.scheduled']
const WITH_CLASS = ['email.bounced', 'email.deferred']

/** Whether what the last attempt found is counted with an event of this type. */
export function isAfterAttempt({ type }: EventKind): boolean {
  return !BEFORE_ATTEMPTS.includes(type)
}

/** Whether an event of this type has a class and a reply. */
export function hasClass({ type }: EventKind): boolean {
  return WITH_CLASS.includes(type)
}

const listOf = (types: readonly string[]): string => types.map((type) => `'${type}'`).join(', ')
/** Conditions on the event `e`, as the functions above. */
export const IS_COUNTED = `e.type IN (${listOf(COUNTED_TYPES)})`
export const IS_AFTER_ATTEMPT = `e.type NOT IN (${listOf(BEFORE_ATTEMPTS)})`

const FLAGS = { isHard: 1, isMachine: 2, isFirst: 4, isSuppressed: 8 } as const
const FLAG_CODES = 16
const MINUTE_CODES = FLAG_CODES * COUNTED_TYPES.length
const MINUTE_MS = 60_000

const ENGAGEMENT_FLAGS = sql`
  CASE WHEN e.data ->> 'machine' = 'true' THEN ${FLAGS.isMachine} ELSE 0 END
    + CASE WHEN e.data ->> 'first' = 'true' THEN ${FLAGS.isFirst} ELSE 0 END`

/** The code of the event `e`, if it is counted. */
export const CODE = sql`
  floor(date_part('epoch', e.created_at) / 60)::bigint * ${MINUTE_CODES}
    + CASE e.type
      ${COUNTED_TYPES.map((type, i) => `WHEN '${type}' THEN ${i * FLAG_CODES}`).join('\n      ')}
    END
    + CASE e.type
      WHEN 'email.bounced' THEN CASE WHEN e.data ->> 'bounce_type' = 'hard' THEN ${FLAGS.isHard} ELSE 0 END
      WHEN 'email.failed' THEN CASE WHEN e.data ->> 'reason' = 'suppressed' THEN ${FLAGS.isSuppressed} ELSE 0 END
      WHEN 'email.opened' THEN ${ENGAGEMENT_FLAGS}
      WHEN 'email.clicked' THEN ${ENGAGEMENT_FLAGS}
      ELSE 0
    END`

/** The kinds of an array of codes in the format of PostgreSQL, such as `{1,2}`. */
export function kindsOf(codes: string): EventKind[] {
  return codes.slice(1, -1).split(',').map(Number).map(kindOf)
}

function kindOf(code: number): EventKind {
  const flags = code % FLAG_CODES
  return {
    type: COUNTED_TYPES[Math.floor(code / FLAG_CODES) % COUNTED_TYPES.length] ?? '',
    at: new Date(Math.floor(code / MINUTE_CODES) * MINUTE_MS),
    isHard: (flags & FLAGS.isHard) !== 0,
    isMachine: (flags & FLAGS.isMachine) !== 0,
    isFirst: (flags & FLAGS.isFirst) !== 0,
    isSuppressed: (flags & FLAGS.isSuppressed) !== 0,
  }
}
