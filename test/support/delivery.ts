/**
 * Values for tests of scheduling and delivery without stores: claimed recipients, selected sources, attempts and a
 * context with a silent log.
 */
import { pino } from 'pino'
import { loadConfig, type Config } from '#config/load.ts'
import type { ClaimedDelivery, SelectedSource } from '#mta/delivery/session-grant.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { attemptWithoutSession, type Attempt, type Outcome } from '#src/messages/outcome.ts'
import { newId } from '#src/platform/id.ts'
import type { Log } from '#src/platform/log.ts'
import { memberOf } from '#src/queue/keys.ts'
import { throttleWith } from './throttle.ts'

export const LEASE = 7
const HOUR_MS = 3_600_000

export interface SilentContext {
  readonly config: Config
  readonly log: Log
  readonly clock: { now(): number }
  nowMs: number
}

/** A context without stores. Its clock moves by `nowMs`. */
export function silentContext(env: Record<string, string> = {}): SilentContext {
  const ctx: SilentContext = {
    config: loadConfig({ LOG_LEVEL: 'silent', ...env }),
    log: pino({ level: 'silent' }),
    clock: { now: () => ctx.nowMs },
    nowMs: Date.UTC(2026, 0, 1),
  }
  return ctx
}

/** A small transactional message to one recipient, claimed under `LEASE`; any field can be replaced. */
export function claimedOf(
  fields: Partial<Omit<ClaimedRecipient, 'content'>> & { content?: Partial<ClaimedRecipient['content']> } = {},
): ClaimedRecipient {
  const now = Date.UTC(2026, 0, 1)
  const { content, ...rest } = fields
  return {
    messageId: newId(),
    n: 0,
    workspaceId: newId(),
    tier: 'normal',
    address: 'ada@a.example',
    domain: 'a.example',
    attempt: 1,
    lease: LEASE,
    claimedAt: new Date(now),
    tries: 0,
    dueAt: new Date(now),
    beganAt: new Date(now),
    expiresAt: new Date(now + HOUR_MS),
    domainId: null,
    campaignId: null,
    contact: null,
    suppression: null,
    deferredContent: null,
    submitted: null,
    trackOpens: false,
    trackClicks: false,
    recipientCount: 1,
    requestId: null,
    traceparent: null,
    ...rest,
    content: {
      from: { email: 'shop@sender.example', name: null },
      replyTo: null,
      to: [{ email: 'ada@a.example', name: null }],
      cc: [],
      subject: 'Hello',
      html: null,
      text: 'Hello',
      isBodyGone: false,
      compressed: null,
      raw: null,
      headers: [],
      hasAttachments: false,
      size: 5,
      isLarge: false,
      createdAt: new Date(now),
      ...content,
    },
  }
}

export type FinishedAttempts = (Attempt | null)[]

/** A source with a share of its throttle. `finished` records what `finish` was called with. */
export function selectedSource(
  fields: Partial<SelectedSource> = {},
): SelectedSource & { readonly finished: FinishedAttempts } {
  const finished: FinishedAttempts = []
  const throttle = fields.throttle ?? throttleWith({ share: { instant: 2, others: 8 } })
  return {
    source: null,
    throttle,
    endpoints: [{ source: null, address: null, family: null, ehloName: 'mta.sender.example' }],
    throttleOf: () => throttle,
    isUsable: () => true,
    finish: (attempt) => finished.push(attempt),
    finished,
    ...fields,
  }
}

export function deliveryOf(
  claimed: ClaimedRecipient = claimedOf(),
  selected: SelectedSource = selectedSource(),
): ClaimedDelivery {
  return { claimed, site: 'site', selected, heldSinceMs: performance.now(), phase: 'preparing' }
}

export const ACCEPTED: Outcome = {
  kind: 'delivered',
  reply: { code: 250, enhanced: '2.0.0', text: 'Ok', lines: ['250 2.0.0 Ok'] },
}

export function attemptOf(outcome: Outcome = ACCEPTED, fields: Partial<Attempt> = {}): Attempt {
  return { ...attemptWithoutSession(outcome, Date.UTC(2026, 0, 1)), host: 'mx1.a.example', ...fields }
}

/** The ready queue's entry of a claimed recipient. */
export function entryOf(claimed: ClaimedRecipient): {
  readonly member: string
  readonly tier: ClaimedRecipient['tier']
} {
  return { member: memberOf(claimed), tier: claimed.tier }
}

/** Waits for some turns of the event loop, so that pending callbacks run. */
export async function flushEventLoop(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}
