/**
 * Writes down what a look at DNS found, in one transaction: facts, status, states of the DKIM keys, due time and events. The row is locked
 * and judged as it is then, so two looks that end together count one after the other, and one that began earlier than the last changes
 * nothing. When another workspace holds the name, the status stays and the rest is written.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { NO_NEWS, type News } from '#src/queue/notifications.ts'
import { raiseEvents, type WorkspaceEvent } from '#src/events/raise.ts'
import { sql } from '#src/stores/sql.ts'
import { type Domain, findDomain, isHeldElsewhere, type PartStatus } from './domains.ts'
import type { RecordCheck } from './inspect.ts'
import { type DkimKeyRow, type KeyMove, planKeys, SETTLE_MS } from './key-state.ts'
import { dkimName, type Purpose } from './records.ts'
import { growingWaitMs, judgeStanding, type Proof, type Standing, type Verdict } from './status.ts'

export interface Look {
  readonly domainId: string
  readonly workspaceId: string
  /** Epoch ms. */
  readonly begunAt: number
  readonly checks: readonly RecordCheck[]
}

export interface Settled {
  readonly proof: Proof
  /** As it is now; null when it was removed meanwhile. */
  readonly domain: Domain | null
  /** To be announced. */
  readonly news: News
}

type Settling = Pick<Context, 'db' | 'clock' | 'config'>

export async function settleCheck(ctx: Settling, look: Look): Promise<Settled> {
  try {
    return await settleOnce(ctx, look, false)
  } catch (error) {
    if (!isHeldElsewhere(error)) throw error
    return settleOnce(ctx, look, true)
  }
}

async function settleOnce(ctx: Settling, look: Look, isTaken: boolean): Promise<Settled> {
  const { proof, news } = await ctx.db.transaction(async (tx) => {
    const {
      rows: [locked],
    } = await tx.query<{ isLate: boolean }>(
      sql`
        SELECT checked_at IS NOT NULL AND checked_at > $3 AS "isLate"
        FROM domains
        WHERE id = $1 AND workspace_id = $2
        FOR NO KEY UPDATE
      `,
      [look.domainId, look.workspaceId, new Date(look.begunAt)],
    )
    const domain = locked === undefined ? null : await findDomain(tx, look.workspaceId, look.domainId)
    if (domain === null) return { proof: 'unknown' as const, news: NO_NEWS }
    const found = proofOf(domain, look.checks)
    const judged = found === 'proven' && isTaken ? 'taken' : found
    const isLate = locked?.isLate === true
    return { proof: judged, news: isLate ? NO_NEWS : await write(ctx, tx, { domain, look, proof: judged }) }
  })
  return { proof, news, domain: await findDomain(ctx.db, look.workspaceId, look.domainId) }
}

interface Judged {
  readonly domain: Domain
  readonly look: Look
  readonly proof: Proof
}

async function write(ctx: Settling, tx: Queryable, { domain, look, proof }: Judged): Promise<News> {
  const now = ctx.clock.now()
  const verdict = judgeStanding(standingOf(domain), proof, now)
  const ageMs = verdict.status === domain.status ? now - domain.statusSince.getTime() : 0
  const moves = planKeys(domain.keys, (key) => statusOfKey(look.checks, domain.domain, key), now)
  for (const move of moves) await moveKey(tx, move, new Date(now))
  await tx.query(
    sql`
      UPDATE domains
      SET checks = $2,
        checked_at = $3,
        missing_since = $4,
        check_due_at = $5,
        mail_from_status = $6,
        tracking_status = $7
      WHERE id = $1
    `,
    [
      domain.id,
      JSON.stringify(look.checks),
      new Date(look.begunAt),
      dateOf(verdict.missingSinceMs),
      dueAt(ctx, verdict, Math.min(waitOfKeys(domain.keys, moves, now), waitOfParts(verdict, ageMs, look.checks))),
      partStatus(look.checks, 'mail_from', domain.mailFromStatus),
      partStatus(look.checks, 'tracking', domain.trackingStatus),
    ],
  )
  return verdict.status === domain.status ? NO_NEWS : turn(tx, domain, verdict, new Date(now))
}

function standingOf({ status, statusSince, missingSince, isTrusted }: Domain): Standing {
  return { status, statusSinceMs: statusSince.getTime(), missingSinceMs: missingSince?.getTime() ?? null, isTrusted }
}

/** Apart from the facts: naming the column makes every process forget its API keys. */
async function turn(tx: Queryable, domain: Domain, { status }: Verdict, now: Date): Promise<News> {
  await tx.query(
    sql`
      UPDATE domains
      SET verification_status = $2,
        status_since = $3,
        verified_at = CASE WHEN $2 = 'verified' AND verification_status <> 'degraded' THEN $3 ELSE verified_at END
      WHERE id = $1
    `,
    [domain.id, status, now],
  )
  const data = { domain: domain.domain, domain_id: domain.id, verification_status: status }
  const event = (type: WorkspaceEvent['type']): WorkspaceEvent => ({
    workspaceId: domain.workspaceId,
    type,
    recipient: null,
    data,
  })
  if (status === 'verified') return raiseEvents(tx, [event('domain.verified')], now)
  return status === 'degraded' ? raiseEvents(tx, [event('domain.degraded')], now) : NO_NEWS
}

async function moveKey(tx: Queryable, move: KeyMove, now: Date): Promise<void> {
  if (move.kind === 'saw') {
    await tx.query(`UPDATE dkim_keys SET seen_at = $2 WHERE id = $1 AND state = 'waiting'`, [move.id, dateOf(move.at)])
  } else if (move.kind === 'delete') {
    await tx.query('DELETE FROM dkim_keys WHERE id = $1 AND state = $2', [move.id, move.from])
  } else {
    await tx.query(
      sql`
        UPDATE dkim_keys
        SET state = $3, state_since = $4, private_key = CASE WHEN $3 = 'removable' THEN ''::bytea ELSE private_key END
        WHERE id = $1 AND state = $2
      `,
      [move.id, move.from, move.to, now],
    )
  }
}

/** The RSA record that signs, or the next one where it is there already, is the proof that whoever added the domain can write its zone. */
function proofOf({ keys, domain }: Domain, checks: readonly RecordCheck[]): Proof {
  const proving = keys.filter(
    ({ algorithm, state }) => algorithm === 'rsa-sha256' && (state === 'active' || state === 'waiting'),
  )
  const seen = proving.map((key) => statusOfKey(checks, domain, key))
  if (seen.includes('ok')) return 'proven'
  return seen.includes('unknown') ? 'unknown' : 'absent'
}

function statusOfKey(checks: readonly RecordCheck[], domain: string, key: DkimKeyRow): RecordCheck['status'] {
  const name = dkimName(key.selector, domain)
  // a key that came after the look began was not looked for
  return checks.find((check) => check.purpose === 'dkim' && check.name === name)?.status ?? 'unknown'
}

/** All records of the part are there; something is wrong; or not there yet. DNS that does not answer changes nothing. */
function partStatus(checks: readonly RecordCheck[], purpose: Purpose, before: PartStatus): PartStatus {
  const found = checks.filter((check) => check.purpose === purpose).map(({ status }) => status)
  if (found.includes('wrong')) return 'failed'
  if (found.includes('missing') || found.length === 0) return 'pending'
  return found.includes('unknown') ? before : 'verified'
}

/** A waiting key is looked for like a pending domain; what has been seen, when it may begin to sign. */
function waitOfKeys(keys: readonly DkimKeyRow[], moves: readonly KeyMove[], now: number): number {
  const moved = new Map(moves.map((move) => [move.id, move]))
  const waits = keys
    .filter(({ state }) => state === 'waiting')
    .map((key) => {
      const move = moved.get(key.id)
      if (move?.kind === 'to') return Infinity
      const seenMs = move?.kind === 'saw' ? move.at : key.seenMs
      return seenMs === null ? growingWaitMs(now - key.sinceMs) : Math.max(1000, seenMs + SETTLE_MS - now)
    })
  return Math.min(Infinity, ...waits)
}

const EAGER_MS = 72 * 60 * 60_000

/** Whoever enters records does so one after the other: in its first days a verified domain that lacks some is looked at more often. */
function waitOfParts({ status }: Verdict, ageMs: number, checks: readonly RecordCheck[]): number {
  const isEager = status === 'verified' && ageMs < EAGER_MS && checks.some((check) => check.status !== 'ok')
  return isEager ? growingWaitMs(ageMs) : Infinity
}

const JITTER = 0.1

/** The next look, spread by jitter so that what was added together is not looked at together. */
function dueAt({ clock, config }: Settling, { dueInMs }: Verdict, soonerMs: number): Date | null {
  if (dueInMs === null && soonerMs === Infinity) return null
  const waitMs = Math.min(dueInMs ?? Infinity, soonerMs) * config.retryScale * (1 + JITTER * Math.random())
  return new Date(clock.now() + Math.max(1000, waitMs))
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
