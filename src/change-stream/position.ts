/**
 * A position in the changes: the snapshot of PostgreSQL up to which they are known. A change is new if its transaction
 * is not visible in the snapshot, so nothing is missed however late a transaction commits, and a long transaction
 * delays nobody (unlike a cursor of the event feed). As text it is the `id` of an event of the stream, opaque to
 * clients: `<history>.<epoch ms>.<xmin>.<xmax>.<open transactions>`. It comes back in Last-Event-ID, so its text is
 * hostile input: whatever it says, it selects only changes of the caller's own workspace.
 */
import { hash } from 'node:crypto'

export interface ChangePosition {
  /** Names the cluster and its timeline: after a failover or restore, transaction ids may be used again. */
  readonly history: string
  /** When it was read, by the clock of PostgreSQL; epoch ms. */
  readonly atMs: number
  /** The text of a pg_snapshot. */
  readonly snapshot: string
}

/** A longer list of open transactions is left out: the position is then earlier, and some changes are repeated. */
const MAX_OPEN = 20
const POSITION = /^([\w-]{8})\.(\d{12,14})\.(\d{1,19})\.(\d{1,19})\.((?:\d{1,19},){0,19}\d{1,19})?$/
const MAX_POSITION = 600

/** The name of a cluster's timeline. */
export function historyOf(systemIdentifier: string, timeline: string): string {
  return hash('sha256', `${systemIdentifier} ${timeline}`, 'base64url').slice(0, 8)
}

export function writePosition({ history, atMs, snapshot }: ChangePosition): string {
  const [xmin = '', xmax = '', open = ''] = snapshot.split(':')
  const isShort = open.split(',').length <= MAX_OPEN
  return `${history}.${Math.floor(atMs)}.${xmin}.${isShort ? `${xmax}.${open}` : `${xmin}.`}`
}

/** Null for text that is no position: PostgreSQL would refuse it. */
export function readPosition(text: string): ChangePosition | null {
  const match = text.length > MAX_POSITION ? null : POSITION.exec(text)
  if (match === null) return null
  const [, history = '', atMs = '', xmin = '', xmax = '', open = ''] = match
  const ids = [xmin, ...(open === '' ? [] : open.split(','))].map(BigInt)
  const ascends = ids.every((id, i) => id > 0n && (i < 2 || id > (ids[i - 1] ?? 0n)))
  const isInside = ids.every((id, i) => id >= (ids[0] ?? 0n) && (i === 0 || id < BigInt(xmax)))
  if (!ascends || !isInside || BigInt(xmin) > BigInt(xmax) || BigInt(xmax) >= 2n ** 63n) return null
  return { history, atMs: Number(atMs), snapshot: `${xmin}:${xmax}:${open}` }
}
