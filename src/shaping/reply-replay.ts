/**
 * Runs the replies of the last days, as attempts have them, through two shaping files and counts what each would have done. Nothing is
 * changed. The same reply of the same host to many recipients is looked at once; what one slice of the days holds is in memory at a time.
 * Which domains the transport map has is as it is now.
 */
import type { Queryable } from '#src/stores/db.ts'
import { ACCOUNT_RECEIVER, accountAt } from '#src/providers/account-destination.ts'
import { sql } from '#src/stores/sql.ts'
import type { Action, Shaping } from './shaping-file.ts'
import { findReceiver, findRule } from './rule-match.ts'

const SLICE_MS = 3_600_000
const MOST_CHANGES = 50

export type Did = Action | 'nothing'
export type Counts = Readonly<Record<Did, number>>

export interface ReceiverReplay {
  readonly receiver: string
  readonly replies: number
  readonly before: Counts
  readonly after: Counts
}

export interface Change {
  /** In the changed file. */
  readonly receiver: string
  readonly reply: string
  readonly count: number
  /** Names of rules; null = none. */
  readonly before: string | null
  readonly after: string | null
}

export interface Replay {
  readonly replies: number
  readonly receivers: readonly ReceiverReplay[]
  /** The most frequent. */
  readonly changes: readonly Change[]
}

interface ReplyRow {
  readonly domain: string
  readonly host: string | null
  readonly code: number
  readonly enhanced: string | null
  readonly text: string
  readonly count: number
}

interface Order {
  readonly before: Shaping
  readonly after: Shaping
  /** Domains of the transport map; `*` for all. */
  readonly mapped: ReadonlySet<string>
  readonly since: Date
  readonly until: Date
}

export async function replayShaping(db: Queryable, { before, after, mapped, since, until }: Order): Promise<Replay> {
  const receivers = new Map<string, { replies: number; before: Record<Did, number>; after: Record<Did, number> }>()
  const changes = new Map<string, Change>()
  let replies = 0
  for (let from = since.getTime(); from < until.getTime(); from += SLICE_MS) {
    const rows = await readReplies(db, new Date(from), new Date(Math.min(from + SLICE_MS, until.getTime())))
    for (const row of rows) {
      const isOurs = mapped.has('*') || mapped.has(row.domain)
      const [was, is] = [judge(before, row, isOurs), judge(after, row, isOurs)]
      const counts = receivers.get(is.receiver) ?? { replies: 0, before: noCounts(), after: noCounts() }
      receivers.set(is.receiver, counts)
      replies += row.count
      counts.replies += row.count
      counts.before[was.did] += row.count
      counts.after[is.did] += row.count
      if (was.rule !== is.rule || was.did !== is.did)
        addChange(changes, row, { receiver: is.receiver, before: was.rule, after: is.rule })
    }
  }
  return {
    replies,
    receivers: [...receivers]
      .map(([receiver, counts]) => ({ receiver, ...counts }))
      .toSorted((one, other) => other.replies - one.replies),
    changes: [...changes.values()].toSorted((one, other) => other.count - one.count).slice(0, MOST_CHANGES),
  }
}

function noCounts(): Record<Did, number> {
  return { suspend: 0, slow: 0, tell: 0, nothing: 0 }
}

interface Judged {
  readonly receiver: string
  readonly rule: string | null
  readonly did: Did
}

function judge(shaping: Shaping, row: ReplyRow, isOurs: boolean): Judged {
  const hosts = row.host === null ? [] : [{ name: row.host, isOurs }]
  const receiver =
    accountAt(row.domain) === null ? findReceiver(shaping, { domain: row.domain, hosts }).name : ACCOUNT_RECEIVER
  const rule = findRule(shaping, receiver, row)
  return { receiver, rule: rule?.name ?? null, did: rule?.action ?? 'nothing' }
}

function addChange(
  changes: Map<string, Change>,
  row: ReplyRow,
  found: Pick<Change, 'receiver' | 'before' | 'after'>,
): void {
  const reply = `${row.code} ${row.enhanced === null ? '' : `${row.enhanced} `}${row.text.slice(0, 200)}`
  // numbers and addresses differ, the reply is the same
  const name = JSON.stringify([found, reply.replaceAll(/[0-9a-f.:]{4,}/gi, '#')])
  const known = changes.get(name)
  changes.set(name, { ...found, reply: known?.reply ?? reply, count: (known?.count ?? 0) + row.count })
}

/** Refusals of one slice, the same ones together. */
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
