/**
 * Replays the replies of the last days, as stored in attempts, through two shaping files and counts what each would
 * have done. Changes nothing. The same reply of one host to many recipients is evaluated once, and only one slice of
 * the period is in memory at a time. The transport map is the current one.
 */
import type { Queryable } from '#src/stores/db.ts'
import { ACCOUNT_RECEIVER, accountIdOf } from '#src/providers/account-destination.ts'
import { sql } from '#src/stores/sql.ts'
import type { RuleAction, Shaping } from './shaping-file.ts'
import { findReceiver, findRule } from './rule-match.ts'

const SLICE_MS = 3_600_000
const MAX_CHANGES = 50

export type ReplayedAction = RuleAction | 'nothing'
export type ActionCounts = Readonly<Record<ReplayedAction, number>>

export interface ReceiverReplay {
  readonly receiver: string
  readonly replies: number
  readonly before: ActionCounts
  readonly after: ActionCounts
}

export interface ReplayChange {
  /** Receiver in the changed file. */
  readonly receiver: string
  readonly reply: string
  readonly count: number
  /** Names of rules; null = no rule. */
  readonly before: string | null
  readonly after: string | null
}

export interface Replay {
  readonly replies: number
  readonly receivers: readonly ReceiverReplay[]
  /** The most frequent changes. */
  readonly changes: readonly ReplayChange[]
}

interface ReplyRow {
  readonly domain: string
  readonly host: string | null
  readonly code: number
  readonly enhanced: string | null
  readonly text: string
  readonly count: number
}

interface ReplayOptions {
  readonly before: Shaping
  readonly after: Shaping
  /** Domains of the transport map; `*` for all. */
  readonly mapped: ReadonlySet<string>
  readonly since: Date
  readonly until: Date
}

export async function replayShaping(
  db: Queryable,
  { before, after, mapped, since, until }: ReplayOptions,
): Promise<Replay> {
  const receivers = new Map<
    string,
    { replies: number; before: Record<ReplayedAction, number>; after: Record<ReplayedAction, number> }
  >()
  const changes = new Map<string, ReplayChange>()
  let replies = 0
  for (let from = since.getTime(); from < until.getTime(); from += SLICE_MS) {
    const rows = await readReplies(db, new Date(from), new Date(Math.min(from + SLICE_MS, until.getTime())))
    for (const row of rows) {
      const isMapped = mapped.has('*') || mapped.has(row.domain)
      const [was, is] = [replayReply(before, row, isMapped), replayReply(after, row, isMapped)]
      const counts = receivers.get(is.receiver) ?? { replies: 0, before: noCounts(), after: noCounts() }
      receivers.set(is.receiver, counts)
      replies += row.count
      counts.replies += row.count
      counts.before[was.action] += row.count
      counts.after[is.action] += row.count
      if (was.rule !== is.rule || was.action !== is.action)
        addChange(changes, row, { receiver: is.receiver, before: was.rule, after: is.rule })
    }
  }
  return {
    replies,
    receivers: [...receivers]
      .map(([receiver, counts]) => ({ receiver, ...counts }))
      .toSorted((one, other) => other.replies - one.replies),
    changes: [...changes.values()].toSorted((one, other) => other.count - one.count).slice(0, MAX_CHANGES),
  }
}

function noCounts(): Record<ReplayedAction, number> {
  return { suspend: 0, slow: 0, tell: 0, nothing: 0 }
}

interface ReplayedReply {
  readonly receiver: string
  readonly rule: string | null
  readonly action: ReplayedAction
}

function replayReply(shaping: Shaping, row: ReplyRow, isMapped: boolean): ReplayedReply {
  const hosts = row.host === null ? [] : [{ name: row.host, isMapped }]
  const receiver =
    accountIdOf(row.domain) === null ? findReceiver(shaping, { domain: row.domain, hosts }).name : ACCOUNT_RECEIVER
  const rule = findRule(shaping, receiver, row)
  return { receiver, rule: rule?.name ?? null, action: rule?.action ?? 'nothing' }
}

function addChange(
  changes: Map<string, ReplayChange>,
  row: ReplyRow,
  found: Pick<ReplayChange, 'receiver' | 'before' | 'after'>,
): void {
  const reply = `${row.code} ${row.enhanced === null ? '' : `${row.enhanced} `}${row.text.slice(0, 200)}`
  // replies that differ only in numbers and addresses count as one
  const name = JSON.stringify([found, reply.replaceAll(/[0-9a-f.:]{4,}/gi, '#')])
  const known = changes.get(name)
  changes.set(name, { ...found, reply: known?.reply ?? reply, count: (known?.count ?? 0) + row.count })
}

/** The 4xx and 5xx replies of one slice, equal ones grouped. */
async function readReplies(db: Queryable, from: Date, until: Date): Promise<ReplyRow[]> {
  const { rows } = await db.query<ReplyRow>(
    sql`
      SELECT r.domain, a.host, a.reply_code AS code, a.reply_status AS enhanced,
        left(coalesce(a.reply_text, ''), 500) AS text, count(*)::int AS count
      FROM attempts a
      JOIN recipients r ON r.message_id = a.message_id AND r.n = a.n
      WHERE a.at >= $1 AND a.at < $2 AND a.reply_code >= 400
      GROUP BY 1, 2, 3, 4, 5
    `,
    [from, until],
  )
  return rows
}
