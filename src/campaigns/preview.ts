/**
 * What sending a campaign now would cost: how many recipients at which receivers, what room is left in quota and warm-up, when it would be
 * done, and what is wrong with it. Findings are green, yellow or red; red stops a start that is not forced, and some red cannot be forced.
 * Nothing is changed.
 */
import type { Config } from '#config/load.ts'
import { REGIONS, type Region } from '#config/regions.ts'
import type { Queryable } from '#src/stores/db.ts'
import { amountOf, dayOf, stepOf, type DayRecord } from '#src/egress/warm-up.ts'
import { readRoom } from '#src/messages/quota.ts'
import { sql } from '#src/stores/sql.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import { countRecipients, sampleNew, type Counted } from './selection.ts'
import { judgeSendable, type Block, type Starting } from './start.ts'
import type { Campaign } from './store.ts'

export interface Finding {
  readonly code: string
  readonly level: 'green' | 'yellow' | 'red'
  readonly message: string
  /** Whether it can be sent all the same: of red, when it is forced; of all else, always. */
  readonly mayForce: boolean
}

export interface ReceiverPreview {
  readonly receiver: string
  readonly recipients: number
  /** What warming addresses may still send there today; null: any number. */
  readonly warmUpRoom: number | null
  /** Of the best hour of the last week; null: nothing is known of it. */
  readonly bestHour: number | null
}

export interface Preview {
  readonly counted: Counted
  readonly receivers: readonly ReceiverPreview[]
  /** Null: no limit. */
  readonly quotaRoom: number | null
  /** Null: of none of the receivers is anything known, or a warm-up spreads it over days. */
  readonly expectedFinish: Date | null
  /** Of a sample; null where nobody gets it. */
  readonly neverMailedShare: number | null
  readonly findings: readonly Finding[]
}

export type Previewing = Starting & { readonly config: Pick<Config, 'warmUp' | 'trackingUrl'> }

/** Receivers ask more of those who send so many (Gmail and Yahoo, since 2024). */
const BULK = 5000
const MANY_NEW = 0.5
const LIKE_A_REPLY = /^\s*(?:re|fwd?|aw|wg)\s*(?:\[\d+\])?:/i
/** An hour with fewer deliveries tells what there was to send, not how much the receiver takes. */
const TELLING_HOUR = 1000
const HOUR_MS = 3600 * 1000

interface Asked {
  readonly workspaceId: string
  /** Recipients a month; null = unlimited. */
  readonly quota: number | null
}

export async function previewCampaign(
  ctx: Previewing,
  { workspaceId, quota }: Asked,
  campaign: Campaign,
): Promise<Preview> {
  const nowMs = ctx.clock.now()
  const [{ blocks, sendable }, counted, quotaRoom, sender] = await Promise.all([
    judgeSendable(ctx, workspaceId, campaign),
    countRecipients(ctx.db, workspaceId, campaign, nowMs),
    readRoom(ctx.db, workspaceId, quota, new Date(nowMs)),
    findSenderFacts(ctx.db, workspaceId, campaign.fromEmail),
  ])
  const receivers = await describeReceivers(ctx, counted, { pool: sender?.pool ?? null, nowMs })
  const { sampled, neverMailed } = await sampleNew(ctx.db, { workspaceId, counted, nowMs }, campaign)
  const neverMailedShare = sampled === 0 ? null : neverMailed / sampled
  const subjects = [sendable?.content.subject ?? campaign.subject, campaign.subjectB].filter(
    (subject) => subject !== null,
  )
  const facts: Facts = {
    total: counted.total,
    quotaRoom,
    neverMailedShare,
    receivers,
    sender,
    trackingUrl: ctx.config.trackingUrl,
    subjects,
    testPercent: campaign.testPercent,
  }
  return {
    counted,
    receivers,
    quotaRoom,
    neverMailedShare,
    expectedFinish: finishOf(receivers, (campaign.testMinutes ?? 0) + (campaign.spreadMinutes ?? 0), nowMs),
    findings: [...blocks.map(findingOf), ...RULES.flatMap((rule) => rule(facts) ?? [])],
  }
}

function findingOf({ code, message, mayForce }: Block): Finding {
  return { code, level: 'red', message, mayForce }
}

interface Facts {
  readonly total: number
  readonly quotaRoom: number | null
  readonly neverMailedShare: number | null
  readonly receivers: readonly ReceiverPreview[]
  readonly sender: SenderFacts | null
  readonly trackingUrl: string
  /** Of a test both. */
  readonly subjects: readonly string[]
  readonly testPercent: number | null
}

type Rule = (facts: Facts) => Finding | null
const red = (code: string, message: string): Finding => ({ code, level: 'red', message, mayForce: true })
const yellow = (code: string, message: string): Finding => ({ code, level: 'yellow', message, mayForce: true })
const green = (code: string, message: string): Finding => ({ code, level: 'green', message, mayForce: true })

const RULES: readonly Rule[] = [
  ({ total }) => (total === 0 ? red('nobody', 'nobody would get it') : null),
  ({ total, quotaRoom }) =>
    quotaRoom !== null && total > quotaRoom
      ? red(
          'quota',
          `the quota of this month has room for ${quotaRoom} of ${total} recipients; the campaign would pause there`,
        )
      : null,
  ({ receivers }) => {
    const full = receivers
      .filter(({ recipients, warmUpRoom }) => warmUpRoom !== null && recipients > warmUpRoom)
      .map(({ receiver }) => receiver)
    return full.length > 0
      ? yellow(
          'warm-up',
          `new addresses cannot send all of it today to ${full.join(', ')}; the rest goes on the days after`,
        )
      : null
  },
  ({ neverMailedShare: share }) =>
    share !== null && share > MANY_NEW
      ? yellow('never-mailed', `${Math.round(share * 100)} % of the recipients were never sent anything before`)
      : null,
  ({ sender }) =>
    sender === null
      ? null
      : sender.status === 'degraded'
        ? red('dkim', 'the DKIM records of the sending domain are gone from DNS')
        : green('dkim', 'signed with the domain in From: aligned'),
  ({ sender }) =>
    sender === null
      ? null
      : sender.hasMailFrom
        ? green('spf', 'the return-path is under the domain in From: aligned')
        : yellow(
            'spf',
            'the return-path is not under the domain in From: SPF is not aligned, DMARC rests on DKIM alone',
          ),
  ({ sender, total }) => {
    if (sender === null || sender.dmarc === 'ok')
      return sender === null ? null : green('dmarc', 'the sending domain has a DMARC record')
    const message = 'no valid DMARC record was seen at the sending domain'
    return total > BULK
      ? red('dmarc', `${message}, and large receivers refuse that of who sends so many`)
      : yellow('dmarc', message)
  },
  ({ subjects }) => (subjects.some((subject) => subject.trim() === '') ? red('subject', 'the subject is empty') : null),
  ({ subjects }) =>
    subjects.some((subject) => LIKE_A_REPLY.test(subject))
      ? yellow(
          'subject',
          'the subject begins as that of a reply or a forwarded mail does: filters, and the law of some countries, take that for deceit',
        )
      : null,
  ({ testPercent, total }) =>
    testPercent !== null && total > 0 && Math.floor((total * testPercent) / 100) < 2
      ? yellow('test', 'too few recipients are in the test for both subjects; the others wait for its end all the same')
      : null,
  ({ trackingUrl }) =>
    trackingUrl.startsWith('https:')
      ? green('list-unsubscribe', 'one-click unsubscribing by HTTPS and by mail')
      : yellow('list-unsubscribe', 'the unsubscribe link is not HTTPS: receivers do not show it (RFC 8058 4)'),
]

interface SenderFacts {
  readonly status: 'verified' | 'degraded'
  readonly hasMailFrom: boolean
  /** As the last look found it; null: not looked yet. */
  readonly dmarc: string | null
  readonly pool: string
}

async function findSenderFacts(db: Queryable, workspaceId: string, from: string | null): Promise<SenderFacts | null> {
  if (from === null) return null
  const {
    rows: [row],
  } = await db.query<Omit<SenderFacts, 'pool'> & { region: Region; pool: string | null }>(
    sql`
      SELECT d.verification_status AS status, d.mail_from_status = 'verified' AS "hasMailFrom", d.region,
        coalesce(d.egress_pool, w.egress_pool) AS pool,
        jsonb_path_query_first(d.checks, '$[*] ? (@.purpose == "dmarc")') ->> 'status' AS dmarc
      FROM domains d
      JOIN workspaces w ON w.id = d.workspace_id
      WHERE d.workspace_id = $1 AND d.domain = $2 AND d.verification_status IN ('verified', 'degraded')
    `,
    [workspaceId, from.slice(from.lastIndexOf('@') + 1)],
  )
  return row === undefined ? null : { ...row, pool: row.pool ?? REGIONS[row.region].pool }
}

interface SourceDay extends DayRecord {
  readonly receiver: string
  readonly sourceId: string
  readonly taken: number
}

async function describeReceivers(
  { db, config }: Pick<Previewing, 'db' | 'config'>,
  { largest }: Counted,
  { pool, nowMs }: { readonly pool: string | null; readonly nowMs: number },
): Promise<ReceiverPreview[]> {
  const names = largest.map(({ receiver }) => receiverOf(receiver, receiver))
  const [{ rows: hours }, { rows: sources }, { rows: days }] = await Promise.all([
    db.query<{ receiver: string; best: number }>(
      sql`
        SELECT receiver, max(delivered) AS best
        FROM receiver_hours
        WHERE receiver = ANY ($1::text[]) AND hour > $2
        GROUP BY receiver
      `,
      [names, new Date(nowMs - 7 * 24 * HOUR_MS)],
    ),
    db.query<{ id: string; isWarming: boolean }>(
      sql`
        SELECT s.id, s.warming_since IS NOT NULL AS "isWarming"
        FROM egress_members m
        JOIN egress_sources s ON s.id = m.source_id
        WHERE m.pool = $1 AND s.paused_at IS NULL AND s.gone_since IS NULL
      `,
      [pool],
    ),
    db.query<SourceDay>(
      sql`
        SELECT DISTINCT ON (source_id, receiver) source_id AS "sourceId", receiver, day::text AS day, step, sent,
          throttled, complaints, taken
        FROM egress_days
        WHERE receiver = ANY ($1::text[]) AND day <= $2::date
        ORDER BY source_id, receiver, day DESC
      `,
      [names, dayOf(nowMs)],
    ),
  ])
  const isFree = sources.length === 0 || sources.some(({ isWarming }) => !isWarming)
  const roomAt = (receiver: string): number =>
    sources.reduce(
      (sum, { id }) =>
        sum +
        roomOf(
          days.find((day) => day.sourceId === id && day.receiver === receiver) ?? null,
          config.warmUp,
          dayOf(nowMs),
        ),
      0,
    )
  return largest.map(({ receiver, recipients }, i) => {
    const room = isFree ? Infinity : roomAt(names[i] ?? receiver)
    const best = hours.find((hour) => hour.receiver === names[i])?.best ?? 0
    return { receiver, recipients, warmUpRoom: room === Infinity ? null : room, bestHour: best > 0 ? best : null }
  })
}

/** What one warming source may still send to a receiver today. */
function roomOf(last: SourceDay | null, schedule: readonly number[], today: string): number {
  const isToday = last !== null && last.day === today
  const amount = amountOf(isToday ? last.step : stepOf(today, last, schedule), schedule)
  return amount === null ? Infinity : Math.max(0, amount - (isToday ? last.taken : 0))
}

/** When the slowest of the receivers whose rate is known would have it all, and not before test and spread are over. */
function finishOf(receivers: readonly ReceiverPreview[], leastMinutes: number, nowMs: number): Date | null {
  if (receivers.some(({ recipients, warmUpRoom }) => warmUpRoom !== null && recipients > warmUpRoom)) return null
  const hours = receivers.flatMap(({ recipients, bestHour }) =>
    bestHour === null || bestHour < TELLING_HOUR ? [] : [recipients / bestHour],
  )
  return hours.length === 0 ? null : new Date(nowMs + Math.max(...hours, leastMinutes / 60) * HOUR_MS)
}
