/**
 * Explains why a message is where it is, for each recipient: every gate in order, which one holds it now, by which rule
 * and until when. Reads PostgreSQL, and the state that outbound processes published to Redis a few seconds ago; the
 * result describes this moment. If Redis does not respond within half a second, its part of the answer is "not known".
 */
import type { Plans } from '#config/plans.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import type { Redis } from '#src/stores/redis.ts'
import { parseGroupSite } from '#src/queue/keys.ts'
import { findQueuePosition, type QueuePosition, type SiteState } from '#src/queue/site-state.ts'
import { findSites } from '#src/queue/domain-sites.ts'
import { findSuspensions } from '#src/queue/suspensions.ts'
import { ANY_SOURCE, WILDCARD } from '#src/shaping/throttle-key.ts'
import {
  listReceiverSuspensions,
  workspaceSuspensionReason,
  type ReceiverSuspension,
} from '#src/shaping/receiver-suspensions.ts'
import type { Shaping } from '#src/shaping/shaping-file.ts'
import { findSuspensionAt } from '#src/shaping/suspended-site.ts'
import { stopsMailOf } from '#src/suppression/cause.ts'
import { findSuppressions } from '#src/suppression/list.ts'
import { nextMonth, readUsage } from '#src/workspaces/usage.ts'
import { describeBounce } from './bounce-origin.ts'
import { translationOf, type CodedText, type Translation } from '#src/platform/coded-text.ts'
import { progressText } from './gate-texts.ts'
import { evaluateGates, type GateFacts, type Gate, type GateName, type QuotaUsage } from './gates.ts'
import { readShapingFile } from './hold-reasons.ts'
import { readMessage, type MessageView, type RecipientView } from './read.ts'
import { isWaiting, STATES } from './state.ts'

export interface Explanation {
  readonly message: MessageView
  readonly recipients: readonly ExplainedRecipient[]
}

export interface ExplainedRecipient {
  readonly recipient: RecipientView
  /** A sentence that tells what holds it now. */
  readonly says: string
  /** Of the part of it behind the state; null: the state says all, or has a reason of its own. */
  readonly translation: Translation | null
  /** The first gate that holds it; null when none does. */
  readonly heldBy: GateName | null
  readonly until: Date | null
  readonly gates: readonly Gate[]
}

export interface ExplainDeps {
  readonly db: Db
  /** Null when no Redis is configured. */
  readonly redis: Redis | null
  readonly plans: Plans
  readonly retryScale: number
  readonly reconcileSeconds: number
  /** SHAPING_FILE; by default the built-in one. */
  readonly shapingFile?: string | null
}

/** Null when the message does not exist. `workspaceId` null: the request is from the operator. */
export async function explainMessage(
  ctx: ExplainDeps,
  workspaceId: string | null,
  id: string,
  now: Date,
): Promise<Explanation | null> {
  const owner = workspaceId ?? (await findOwner(ctx.db, id))
  const message = owner === null ? null : await readMessage(ctx.db, owner, id)
  if (message === null || owner === null) return null
  const facts = await gatherFacts(ctx, owner, message, now)
  return { message, recipients: facts.map((one) => ({ recipient: one.recipient, ...explainRecipient(one, ctx) })) }
}

async function findOwner(db: Queryable, id: string): Promise<string | null> {
  const { rows } = await db.query<{ workspace_id: string }>('SELECT workspace_id FROM messages WHERE id = $1', [id])
  return rows[0]?.workspace_id ?? null
}

async function gatherFacts(
  { db, redis, plans, retryScale, shapingFile = null }: ExplainDeps,
  owner: string,
  message: MessageView,
  now: Date,
): Promise<GateFacts[]> {
  const addresses = message.recipients.map(({ address }) => address)
  const [stopOf, suppressions, usage, receivers] = await Promise.all([
    findSuspensions(db, {
      messageId: message.id,
      workspaceId: owner,
      domains: message.recipients.map(({ destination }) => destination),
    }),
    findSuppressions(db, owner, addresses),
    findUsage(db, plans, owner, now),
    listReceiverSuspensions(db, now),
  ])
  const destinations = message.recipients.map(({ destination }) => destination)
  const shaping = receivers.length === 0 ? null : readShapingFile(shapingFile)
  const sites = shaping === null ? new Map<string, string>() : await findSites(db, destinations)
  return Promise.all(
    message.recipients.map(async (recipient, n): Promise<GateFacts> => {
      const domain = recipient.destination
      const { tier } = message
      const isOpen = isWaiting(recipient.state) || recipient.state === 'sending'
      const place =
        redis === null || !isOpen
          ? null
          : await findQueuePosition(
              redis,
              { messageId: message.id, n, workspaceId: owner, domain, tier },
              now.getTime(),
            )
      return {
        message,
        recipient,
        now,
        usage,
        retryScale,
        place,
        suppression:
          suppressions.find(
            ({ address, kind }) =>
              address.toLowerCase() === recipient.address.toLowerCase() && stopsMailOf(kind, message.tier),
          ) ?? null,
        suspension: stopOf(domain),
        receiverSuspension:
          findReceiverSuspension(receivers, place, owner, recipient.reason) ??
          (shaping === null || !isWaiting(recipient.state) || (place?.states.length ?? 0) > 0
            ? null
            : findStoredSuspension(receivers, shaping, recipient, { owner, site: sites.get(domain) ?? null })),
      }
    }),
  )
}

/**
 * The suspension that stops it at its site, according to the outbound processes: of its workspace's mail there (then
 * its reason says so too), or of every source that may send it. While one source is not suspended, nothing holds it.
 */
function findReceiverSuspension(
  suspensions: readonly ReceiverSuspension[],
  place: QueuePosition | null,
  owner: string,
  reason: string | null,
): ReceiverSuspension | null {
  const states = place?.states ?? []
  const ofOwner = suspensions.find(
    (stop) =>
      stop.workspaceId === owner &&
      (reason === workspaceSuspensionReason(stop) || states.some((state) => state.pace === stop.pace)),
  )
  const found = states.map((state) =>
    suspensions.find((stop) => stop.workspaceId === null && isSuspendedAt(state, stop)),
  )
  return ofOwner ?? (found.every((stop) => stop !== undefined) ? (found[0] ?? null) : null)
}

/** While it waits for its next attempt, no outbound process reports on it. */
function findStoredSuspension(
  suspensions: readonly ReceiverSuspension[],
  shaping: Shaping,
  { destination, attempts }: RecipientView,
  { owner, site }: { readonly owner: string; readonly site: string | null },
): ReceiverSuspension | null {
  const last = attempts.findLast(({ host }) => host !== null)
  const { host, source } = last ?? { host: null, source: null }
  return findSuspensionAt(suspensions, shaping, { workspaceId: owner, domain: destination, site, host, source })
}

function isSuspendedAt({ pace, paceSource, source }: SiteState, stop: ReceiverSuspension): boolean {
  if (stop.pace === WILDCARD) return stop.source === (source ?? ANY_SOURCE)
  return stop.pace === pace && stop.source === paceSource
}

async function findUsage(db: Queryable, plans: Plans, workspaceId: string, now: Date): Promise<QuotaUsage> {
  const [
    usage,
    {
      rows: [row],
    },
  ] = await Promise.all([
    readUsage(db, workspaceId, now),
    db.query<{ plan: string }>('SELECT plan FROM workspaces WHERE id = $1', [workspaceId]),
  ])
  const plan = row?.plan ?? 'free'
  return { plan, used: usage?.used ?? 0, quota: plans[plan]?.monthlyQuota ?? null, periodEndsAt: nextMonth(now) }
}

function explainRecipient(facts: GateFacts, ctx: ExplainDeps): Omit<ExplainedRecipient, 'recipient'> {
  const gates = evaluateGates(facts)
  const { state, reason } = facts.recipient
  const sentence = `${state}: ${state === 'bounced' ? describeBounce(facts.recipient.attempts) : STATES[state]}`
  const holding = gates.find(({ holds }) => holds)
  if (holding !== undefined && state !== 'suppressed')
    return {
      says: `${sentence}; ${holding.says}`,
      translation: holding.translation,
      heldBy: holding.gate,
      until: holding.until,
      gates,
    }
  const because = reason === null ? '' : ` (${reason})`
  const progress = isWaiting(state) ? describeProgress(facts, ctx) : null
  return {
    says: sentence + (progress === null ? because : `; ${progress.text}`),
    translation: progress === null ? null : translationOf(progress),
    heldBy: holding?.gate ?? null,
    until: null,
    gates,
  }
}

/** Where a recipient is that no gate holds. */
function describeProgress(
  { place, now, recipient: { nextTryAt } }: GateFacts,
  { reconcileSeconds }: ExplainDeps,
): CodedText {
  if (nextTryAt !== null && nextTryAt > now) return progressText('not_due')
  if (place === null) return progressText('redis_unavailable')
  if (place.site !== null) {
    const { site, group } = parseGroupSite(place.site)
    return group === null ? progressText('ready', { site }) : progressText('ready_for_pool', { site, pool: group })
  }
  if (place.isScheduled) return progressText('claimed_soon')
  return progressText('looked_up', { seconds: reconcileSeconds })
}
