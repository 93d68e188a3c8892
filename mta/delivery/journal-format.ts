/**
 * The format of a result journal: one line for each result, a checksum and the result as JSON. A line that was cut by
 * the end of its process or by a full disk, or that is damaged, has a wrong checksum; it is skipped, and the lines
 * after it count. A line of another version that lacks a field is skipped too. Pure: result-journal.ts writes the file.
 */
import { crc32 } from 'node:zlib'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import type { MoveName } from '#src/messages/state.ts'
import type { Transition } from '#src/messages/transition.ts'
import type { DeliveryResult } from './result-writer.ts'

/** A result with the attempt that it ends, under the lease of its claim. */
export interface JournaledResult extends Pick<DeliveryResult, 'claimed'> {
  readonly transition: Transition & {
    readonly lease: number
    readonly attempt: NonNullable<Transition['attempt']>
  }
}

export interface ParsedJournal {
  readonly results: readonly JournaledResult[]
  /** Lines that could not be read. */
  readonly damaged: number
}

/** What cannot be repeated: the receiver has the message, or may have it. */
const JOURNALED_MOVES: ReadonlySet<MoveName> = new Set(['deliver', 'relay', 'capture', 'mark_unknown'])
/** Longer texts are cut, so that a receiver does not decide on the size of the journal. */
const MAX_CONVERSATION = 8192
const MAX_TEXT = 2000
const CHECKSUM_DIGITS = 8

/** Null for a result that need not be in the journal. */
export function journaledResultOf({ claimed, transition }: DeliveryResult): JournaledResult | null {
  const { lease, attempt, move } = transition
  if (lease === null || attempt === null || !JOURNALED_MOVES.has(move)) return null
  const { messageId, n, workspaceId, domain, tier, campaignId = null } = claimed
  return {
    claimed: { messageId, n, workspaceId, domain, tier, campaignId },
    transition: {
      ...transition,
      lease,
      attempt: { ...attempt, record: cutAttempt(attempt.record) },
      reason: transition.reason?.slice(0, MAX_TEXT) ?? null,
      eventData: cutData(transition.eventData),
    },
  }
}

function cutData(data: object | null): object | null {
  if (data === null) return null
  const cut = (value: unknown): unknown => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : value)
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, cut(value)]))
}

function cutAttempt(record: Attempt): Attempt {
  return {
    ...record,
    conversation: record.conversation.slice(0, MAX_CONVERSATION),
    outcome: cutOutcome(record.outcome),
  }
}

/** The lines of a reply are not stored: its text has them all. */
function cutOutcome(outcome: Outcome): Outcome {
  return outcome.kind === 'delivered' || outcome.kind === 'relayed'
    ? { ...outcome, reply: { ...outcome.reply, text: outcome.reply.text.slice(0, MAX_TEXT), lines: [] } }
    : { ...outcome, detail: outcome.detail.slice(0, MAX_TEXT) }
}

/** With its line end. */
export function formatLine(result: JournaledResult): string {
  const json = JSON.stringify(result)
  return `${checksumOf(json)} ${json}\n`
}

/** Of two lines about one recipient the last one counts. */
export function parseJournal(content: Buffer): ParsedJournal {
  const results = new Map<string, JournaledResult>()
  let damaged = 0
  for (const line of content.toString('utf8').split('\n')) {
    if (line === '') continue
    const result = parseLine(line)
    if (result === null) damaged++
    else results.set(`${result.claimed.messageId}:${result.claimed.n}:${result.transition.lease}`, result)
  }
  return { results: [...results.values()], damaged }
}

function parseLine(line: string): JournaledResult | null {
  const json = line.slice(CHECKSUM_DIGITS + 1)
  if (line.slice(0, CHECKSUM_DIGITS + 1) !== `${checksumOf(json)} `) return null
  try {
    return resultOf(JSON.parse(json))
  } catch {
    return null
  }
}

function checksumOf(json: string): string {
  return crc32(json).toString(16).padStart(CHECKSUM_DIGITS, '0')
}

/** The checksum proves that a process of this program wrote it; the fields show that this version can read it. */
function resultOf(value: unknown): JournaledResult | null {
  const result = value as JournaledResult
  const { claimed, transition } = result
  const { attempt, dueAt, claimedAt, move, lease } = transition
  const isComplete =
    /^[0-9a-f-]{36}$/.test(claimed.messageId) &&
    Number.isInteger(claimed.n) &&
    claimed.messageId === transition.messageId &&
    claimed.n === transition.n &&
    JOURNALED_MOVES.has(move) &&
    Number.isInteger(lease) &&
    Number.isInteger(attempt.number) &&
    typeof attempt.record.outcome.kind === 'string'
  // JSON has no dates
  if (!isComplete) return null
  const dates = {
    dueAt: dueAt === null ? null : new Date(dueAt),
    // absent in a journal of an earlier version
    ...(claimedAt === undefined ? {} : { claimedAt: new Date(claimedAt) }),
  }
  return { claimed, transition: { ...transition, ...dates } }
}
