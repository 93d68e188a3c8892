/**
 * Stores the result of a DNS check in one transaction: records, status, states of the DKIM keys, due time and events.
 * The row is locked and evaluated as it is then, so two checks that end together are stored one after the other, and a
 * check that started before the last stored one changes nothing. If another workspace holds the name verified, the
 * status stays and the rest is stored.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { NO_NOTIFICATIONS, type CommitNotifications } from '#src/queue/notifications.ts'
import { raiseEvents, type WorkspaceEvent } from '#src/events/raise.ts'
import { sql } from '#src/stores/sql.ts'
import { type Domain, findDomain, isVerifiedElsewhere, type OptionalRecordStatus } from './domains.ts'
import { isUsed, type RecordCheck } from './inspect-records.ts'
import { type DkimKeyRow, type KeyTiming, type KeyTransition, planKeyTransitions, propagationMs } from './key-state.ts'
import { dkimName, type RecordPurpose } from './records.ts'
import {
  growingWaitMs,
  evaluateStatus,
  type OwnershipProof,
  type StatusSnapshot,
  type StatusDecision,
} from './domain-status.ts'

export interface DomainCheck {
  readonly domainId: string
  readonly workspaceId: string
  /** Epoch ms. */
  readonly startedAt: number
  readonly checks: readonly RecordCheck[]
}

export interface StoredCheck {
  readonly proof: OwnershipProof
  /** The domain after the check; null if it was removed meanwhile. */
  readonly domain: Domain | null
  /** Pass to `publishNotifications` after the commit. */
  readonly notifications: CommitNotifications
}

type CheckContext = Pick<Context, 'db' | 'clock' | 'config'>

export async function storeCheckResult(ctx: CheckContext, check: DomainCheck): Promise<StoredCheck> {
  try {
    return await storeOnce(ctx, check, false)
  } catch (error) {
    if (!isVerifiedElsewhere(error)) throw error
    return storeOnce(ctx, check, true)
  }
}

async function storeOnce(ctx: CheckContext, check: DomainCheck, isClaimedElsewhere: boolean): Promise<StoredCheck> {
  const stored = await ctx.db.transaction((tx) => storeLocked(ctx, tx, check, isClaimedElsewhere))
  return { ...stored, domain: await findDomain(ctx.db, check.workspaceId, check.domainId) }
}

async function storeLocked(
  ctx: CheckContext,
  tx: Queryable,
  check: DomainCheck,
  isClaimedElsewhere: boolean,
): Promise<Omit<StoredCheck, 'domain'>> {
  const {
    rows: [locked],
  } = await tx.query<{ isLate: boolean }>(
    sql`
      SELECT checked_at IS NOT NULL AND checked_at > $3 AS "isLate"
      FROM domains
      WHERE id = $1 AND workspace_id = $2
      FOR NO KEY UPDATE
    `,
    [check.domainId, check.workspaceId, new Date(check.startedAt)],
  )
  const domain = locked === undefined ? null : await findDomain(tx, check.workspaceId, check.domainId)
  if (domain === null) return { proof: 'unknown', notifications: NO_NOTIFICATIONS }
  const found = proofOf(domain, check)
  const proof = found === 'proven' && isClaimedElsewhere ? 'taken' : found
  if (locked?.isLate === true) return { proof, notifications: NO_NOTIFICATIONS }
  return { proof, notifications: await updateDomain(ctx, tx, { domain, check, proof }) }
}

interface EvaluatedCheck {
  readonly domain: Domain
  readonly check: DomainCheck
  readonly proof: OwnershipProof
}

async function updateDomain(
  ctx: CheckContext,
  tx: Queryable,
  { domain, check, proof }: EvaluatedCheck,
): Promise<CommitNotifications> {
  const now = ctx.clock.now()
  const zoneTtlMs = ctx.config.dkimZoneTtlSeconds * 1000
  const decision = evaluateStatus(snapshotOf(domain), proof, now)
  const ageMs = decision.status === domain.status ? now - domain.statusSince.getTime() : 0
  const transitions = planKeyTransitions(domain.keys, (key) => statusOfKey(check, domain.domain, key), {
    nowMs: now,
    zoneTtlMs,
  })
  for (const transition of transitions) await applyKeyTransition(tx, transition, new Date(now))
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
      JSON.stringify(check.checks),
      new Date(check.startedAt),
      dateOf(decision.missingSinceMs),
      dueAt(
        ctx,
        decision,
        Math.min(
          keyRecheckMs(domain.keys, transitions, { nowMs: now, zoneTtlMs }),
          recordRecheckMs(decision, ageMs, check.checks),
        ),
      ),
      partStatus(check.checks, 'mail_from', domain.mailFromStatus),
      partStatus(check.checks, 'tracking', domain.trackingStatus),
    ],
  )
  return decision.status === domain.status ? NO_NOTIFICATIONS : changeStatus(tx, domain, decision, new Date(now))
}

function snapshotOf({ status, statusSince, missingSince, isTrusted }: Domain): StatusSnapshot {
  return { status, statusSinceMs: statusSince.getTime(), missingSinceMs: missingSince?.getTime() ?? null, isTrusted }
}

/** A statement of its own: setting the status column makes every process drop its cached API keys. */
async function changeStatus(
  tx: Queryable,
  domain: Domain,
  { status }: StatusDecision,
  now: Date,
): Promise<CommitNotifications> {
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
  return status === 'degraded' ? raiseEvents(tx, [event('domain.degraded')], now) : NO_NOTIFICATIONS
}

async function applyKeyTransition(tx: Queryable, transition: KeyTransition, now: Date): Promise<void> {
  if (transition.kind === 'saw') {
    await tx.query(`UPDATE dkim_keys SET seen_at = $2 WHERE id = $1 AND state = 'waiting'`, [
      transition.id,
      dateOf(transition.at),
    ])
  } else if (transition.kind === 'delete') {
    await tx.query('DELETE FROM dkim_keys WHERE id = $1 AND state = $2', [transition.id, transition.from])
  } else {
    await tx.query(
      sql`
        UPDATE dkim_keys
        SET state = $3,
          state_since = $4,
          private_key = CASE WHEN $3 IN ('removable', 'revoked') THEN ''::bytea ELSE private_key END
        WHERE id = $1 AND state = $2
      `,
      [transition.id, transition.from, transition.to, now],
    )
  }
}

/** The record of the active or the waiting RSA key proves that the owner of the domain can edit its zone. */
function proofOf({ keys, domain }: Domain, check: DomainCheck): OwnershipProof {
  const proving = keys.filter(
    ({ algorithm, state }) => algorithm === 'rsa-sha256' && (state === 'active' || state === 'waiting'),
  )
  const seen = proving.map((key) => statusOfKey(check, domain, key))
  if (seen.includes('ok')) return 'proven'
  return seen.includes('unknown') ? 'unknown' : 'absent'
}

function statusOfKey({ checks, startedAt }: DomainCheck, domain: string, key: DkimKeyRow): RecordCheck['status'] {
  const name = dkimName(key.selector, domain)
  // a key that was added after the check started was not checked, though the CNAME of its selector may have been
  if (key.target !== null && key.sinceMs > startedAt) return 'unknown'
  return checks.find((record) => record.purpose === 'dkim' && record.name === name)?.status ?? 'unknown'
}

/** The status of a group of records: all present, one wrong, or not there yet. An unanswered query changes nothing. */
function partStatus(
  checks: readonly RecordCheck[],
  purpose: RecordPurpose,
  before: OptionalRecordStatus,
): OptionalRecordStatus {
  const found = checks.filter((check) => check.purpose === purpose).map(({ status }) => status)
  if (found.includes('wrong')) return 'failed'
  if (found.includes('missing') || found.length === 0) return 'pending'
  return found.includes('unknown') ? before : 'verified'
}

/**
 * Time until the next check that a waiting key needs: like a pending domain until its record is seen, then when it may
 * begin to sign.
 */
function keyRecheckMs(
  keys: readonly DkimKeyRow[],
  transitions: readonly KeyTransition[],
  { nowMs, zoneTtlMs }: KeyTiming,
): number {
  const byKey = new Map(transitions.map((transition) => [transition.id, transition]))
  const waits = keys
    .filter(({ state }) => state === 'waiting')
    .map((key) => {
      const transition = byKey.get(key.id)
      if (transition?.kind === 'to') return Infinity
      const seenMs = transition?.kind === 'saw' ? transition.at : key.seenMs
      return seenMs === null
        ? growingWaitMs(nowMs - key.sinceMs)
        : Math.max(1000, seenMs + propagationMs(key, zoneTtlMs) - nowMs)
    })
  return Math.min(Infinity, ...waits)
}

const NEW_DOMAIN_MS = 72 * 60 * 60_000

/** Owners add records one by one: in its first days, a verified domain that lacks some is checked more often. */
function recordRecheckMs({ status }: StatusDecision, ageMs: number, checks: readonly RecordCheck[]): number {
  const isNew =
    status === 'verified' && ageMs < NEW_DOMAIN_MS && checks.some((check) => check.status !== 'ok' && isUsed(check))
  return isNew ? growingWaitMs(ageMs) : Infinity
}

const JITTER = 0.1

/** The time of the next check, with jitter so that domains added together are not checked together. */
function dueAt({ clock, config }: CheckContext, { dueInMs }: StatusDecision, recheckMs: number): Date | null {
  if (dueInMs === null && recheckMs === Infinity) return null
  const waitMs = Math.min(dueInMs ?? Infinity, recheckMs) * config.retryScale * (1 + JITTER * Math.random())
  return new Date(clock.now() + Math.max(1000, waitMs))
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
