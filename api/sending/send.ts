/**
 * One send, from the canonical body to the response: prepares the submission, accepts it and writes the response. With
 * an Idempotency-Key the response is stored, and a repeated request gets it again unchanged, even if it would be
 * refused now (its scheduled time has passed, its template was deleted), because the message was accepted then.
 */
import { createHash, type Hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '#src/auth/keys.ts'
import type { RequestDownloads } from '#src/net/file-downloads.ts'
import { invalid, rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf } from '#src/platform/id.ts'
import { findStoredResults } from '#src/messages/idempotent-replay.ts'
import { readRemainingQuota } from '#src/messages/quota.ts'
import type { AcceptResult, Submission } from '#src/messages/submission.ts'
import { TIERS } from '#src/queue/tiers.ts'
import { nextMonth } from '#src/workspaces/usage.ts'
import { isRefusal } from '#api/http/response.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { quotaHeaders } from '#api/http/limit-headers.ts'
import { isRemote } from './load-attachments.ts'
import { prepare, type SendRequest } from './prepare.ts'
import { countText } from '#src/platform/plural.ts'

export interface SendResult {
  /** JSON. */
  readonly answer: string
  readonly isReplay: boolean
  /** Those of the quota, and of a replay. */
  readonly headers: Readonly<Record<string, string>>
}

/** The Idempotency-Key of a request and the digest of its body. */
export interface IdempotencyClaim {
  readonly key: string
  readonly bodyHash: Buffer
}

/**
 * `downloads` are those of a request with several messages; the caller releases them.
 * @throws if PostgreSQL is unavailable. The message may or may not be stored.
 */
export async function send(
  ctx: ApiContext,
  caller: Caller,
  request: SendRequest & { readonly downloads?: RequestDownloads },
  claim: IdempotencyClaim | null,
): Promise<SendResult | Refusal> {
  const downloads = request.downloads ?? ctx.downloads.open(caller.workspaceId)
  try {
    return await accept(ctx, caller, { ...request, downloads }, claim)
  } finally {
    if (request.downloads === undefined) downloads.release()
  }
}

async function accept(
  ctx: ApiContext,
  caller: Caller,
  { downloads, ...request }: SendRequest & { readonly downloads: RequestDownloads },
  claim: IdempotencyClaim | null,
): Promise<SendResult | Refusal> {
  // a repeated request fetches nothing, because its URLs may be gone
  const earlier = claim !== null && hasUrls(request) ? await findReplay(ctx, caller, claim) : null
  if (earlier !== null) return earlier
  return acceptPrepared(ctx, caller, await prepare(ctx, caller, request, downloads), claim)
}

/** Accepts what was prepared. A refused request returns the response of an earlier one with its key. */
export async function acceptPrepared(
  ctx: ApiContext,
  caller: Caller,
  prepared: Submission | Refusal,
  claim: IdempotencyClaim | null,
): Promise<SendResult | Refusal> {
  if (isRefusal(prepared)) return claim === null ? prepared : ((await findReplay(ctx, caller, claim)) ?? prepared)
  const answer = JSON.stringify(createSendResponse(prepared))
  const submission: Submission = claim === null ? prepared : { ...prepared, idempotency: { ...claim, answer } }
  return toResult(ctx, caller, await ctx.acceptor.accept(submission), { answer, count: prepared.recipients.length })
}

function hasUrls({ body }: SendRequest): boolean {
  return body.attachments.some(isRemote)
}

/** The result of an earlier request with this key; null if there was none. */
async function findReplay(
  ctx: ApiContext,
  caller: Caller,
  claim: IdempotencyClaim,
): Promise<SendResult | Refusal | null> {
  const before = (await findStoredResults(ctx.db, caller.workspaceId, [claim.key], claim.bodyHash)).get(claim.key)
  return before === undefined ? null : toResult(ctx, caller, before, { answer: '', count: 0 })
}

interface SubmittedAnswer {
  readonly answer: string
  /** Recipients. */
  readonly count: number
}

async function toResult(
  ctx: ApiContext,
  { plan, workspaceId }: Caller,
  accepted: AcceptResult,
  { answer, count }: SubmittedAnswer,
): Promise<SendResult | Refusal> {
  const now = new Date(ctx.clock.now())
  const quota = planOf(ctx, plan).monthlyQuota
  if (accepted.kind === 'stored')
    return { answer, isReplay: false, headers: quotaHeaders({ quota, used: accepted.quotaUsed }, now) }
  if (accepted.kind === 'over-quota')
    return refuseOverQuota({ plan, quota: quota ?? 0, used: accepted.quotaUsed, count }, now)
  if (accepted.kind !== 'replayed') return REFUSALS[accepted.kind]
  const remaining = await readRemainingQuota(ctx.db, workspaceId, quota, now)
  const headers = quotaHeaders({ quota, used: (quota ?? 0) - (remaining ?? 0) }, now)
  return { answer: accepted.answer, isReplay: true, headers: { ...headers, 'Idempotent-Replayed': 'true' } }
}

export const IDEMPOTENCY_MISMATCH = refuse(
  'IDEMPOTENCY_MISMATCH',
  'This Idempotency-Key was used with another request. Use a new key for a new request.',
)

const REFUSALS: Readonly<Record<'mismatch' | 'in-progress', Refusal>> = {
  mismatch: IDEMPOTENCY_MISMATCH,
  'in-progress': refuse(
    'IDEMPOTENCY_IN_PROGRESS',
    'A request with this Idempotency-Key is still under way. Repeat it after Retry-After.',
    1,
  ),
}

interface OverQuota {
  readonly plan: string
  readonly quota: number
  readonly used: number
  /** Recipients of the message. */
  readonly count: number
}

function refuseOverQuota({ plan, quota, used, count }: OverQuota, now: Date): Refusal {
  const end = nextMonth(now)
  const message =
    `The plan ${plan} allows ${countText(quota, 'recipient')} a month; ${used} are used, ` +
    `and this message has ${count}. The quota starts anew at ${end.toISOString()}, or with a larger plan.`
  const refusal = rateLimited('quota', message, Math.ceil((end.getTime() - now.getTime()) / 1000))
  return { ...refusal, headers: quotaHeaders({ quota, used }, now) }
}

/** The three public forms of a message id. */
export function formatIds(
  id: string,
  createdAt: Date,
): { readonly message: string; readonly email: string; readonly scheduled: string } {
  const suffix = hexOf(id)
  return {
    message: `msg_${createdAt.getTime()}_${suffix}`,
    email: `em_${suffix}`,
    scheduled: `scheduled_msg_${createdAt.getTime()}_${suffix}`,
  }
}

/** A superset of all variants that the API contract names. */
function createSendResponse(submission: Submission): Record<string, unknown> {
  return submission.scheduledAt === null
    ? queuedResponse(submission)
    : scheduledResponse(submission, submission.scheduledAt)
}

function queuedResponse(submission: Submission): Record<string, unknown> {
  const { id, tier, from, to, subject, createdAt, recipients } = submission
  const ids = formatIds(id, createdAt)
  const { queue, estimatedDelivery } = TIERS[tier]
  return {
    success: true,
    message: 'Email queued for delivery.',
    id: ids.message,
    object: 'email',
    status: 'queued',
    from: from.email,
    to: to.map(({ email }) => email),
    subject,
    created_at: createdAt.toISOString(),
    metadata: { priority: tier, estimated_delivery: estimatedDelivery, recipients_count: recipients.length },
    email_id: ids.email,
    queue,
    estimated_delivery: estimatedDelivery,
    data: { id: ids.message, job_id: ids.email, status: 'queued', priority: tier, recipients: recipients.length },
  }
}

export const SCHEDULED_ESTIMATE = 'at the scheduled time'

function scheduledResponse(submission: Submission, scheduledAt: Date): Record<string, unknown> {
  const { id, tier, from, to, subject, createdAt, recipients, timezone } = submission
  const ids = formatIds(id, createdAt)
  const scheduled_at = scheduledAt.toISOString()
  return {
    success: true,
    message: 'Email scheduled for delivery.',
    id: ids.scheduled,
    object: 'scheduled_email',
    status: 'scheduled',
    scheduled_at,
    timezone,
    from: from.email,
    to: to.map(({ email }) => email),
    subject,
    created_at: createdAt.toISOString(),
    metadata: { priority: tier, estimated_delivery: SCHEDULED_ESTIMATE, recipients_count: recipients.length },
    email_id: ids.email,
    queue: TIERS[tier].queue,
    estimated_delivery: SCHEDULED_ESTIMATE,
    data: {
      id: ids.scheduled,
      job_id: ids.email,
      status: 'scheduled',
      priority: tier,
      recipients: recipients.length,
      scheduled_at,
      timezone,
    },
  }
}

const MAX_KEY = 256

/** The Idempotency-Key of a request; null when it has none. */
export function idempotencyKeyOf(
  header: string | string[] | undefined,
): { readonly ok: true; readonly key: string | null } | { readonly ok: false; readonly refusal: Refusal } {
  if (header === undefined) return { ok: true, key: null }
  const key = String(header)
  if (key.length > 0 && key.length <= MAX_KEY) return { ok: true, key }
  return { ok: false, refusal: invalid([{ path: 'Idempotency-Key', message: `must have 1 to ${MAX_KEY} characters` }]) }
}

/**
 * The claim of a request; null when it has no Idempotency-Key.
 * @param endpoint as for `digestOf`
 */
export function readClaim(
  headers: IncomingHttpHeaders,
  endpoint: string,
  request: unknown,
): { readonly ok: true; readonly claim: IdempotencyClaim | null } | { readonly ok: false; readonly refusal: Refusal } {
  const found = idempotencyKeyOf(headers['idempotency-key'])
  if (!found.ok) return found
  const { key } = found
  return { ok: true, claim: key === null ? null : { key, bodyHash: digestOf(endpoint, request) } }
}

/**
 * SHA-256 over the endpoint (such as its tier) and the canonical request with sorted keys: all forms of a request are
 * equal.
 */
export function digestOf(endpoint: string, request: unknown): Buffer {
  const hash = createHash('sha256').update(`${endpoint}\n`)
  update(hash, request)
  return hash.digest()
}

function update(hash: Hash, value: unknown): void {
  if (Buffer.isBuffer(value)) hash.update(`bytes ${value.length}:`).update(value)
  else if (value instanceof Date) hash.update(value.toISOString())
  else if (Array.isArray(value)) updateAll(hash, '[', value.entries())
  else if (typeof value === 'object' && value !== null) updateAll(hash, '{', Object.entries(value).toSorted(byKey))
  else hash.update(JSON.stringify(value) ?? 'undefined')
}

function updateAll(hash: Hash, kind: '[' | '{', entries: Iterable<readonly [string | number, unknown]>): void {
  hash.update(kind)
  for (const [key, value] of entries) {
    hash.update(`${JSON.stringify(key)}:`)
    update(hash, value)
    hash.update(',')
  }
  hash.update('.')
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
