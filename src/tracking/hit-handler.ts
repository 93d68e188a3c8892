/**
 * Handles requests for open pixels and tracked links: verifies the token and stores the hit before the response. A link
 * redirects only to the URL that its token was made for. If the hit cannot be stored, the person is redirected anyway
 * (hit-spool.ts).
 */
import type { Context } from '#src/context.ts'
import { createHitQueue, type HitQueue } from './hit-queue.ts'
import { isRedirectTarget } from './href.ts'
import { loadMachineRules, type HitRequest } from './machine-rules.ts'
import { createTrackingTokens, type HitRef } from './tokens.ts'

export interface LinkHit extends HitRef {
  readonly url: string
}

export interface TrackingHitHandler {
  /** Null for a token that this installation did not make. */
  readOpen(token: string): HitRef | null
  /** The hit with the URL to redirect to; null for an invalid token. */
  readClick(token: string, coded: string): LinkHit | null
  /** Stores a hit. Resolves when the request may be answered; never rejects. */
  record(ref: HitRef | LinkHit, request: HitRequest): Promise<void>
  readonly counts: HitQueue['counts']
  drain(): Promise<void>
}

const MAX_AGENT = 2000

/** @throws ConfigError if MACHINES_FILE cannot be read. */
export function createTrackingHitHandler(
  ctx: Pick<Context, 'db' | 'clock' | 'config' | 'log' | 'encryption'>,
): TrackingHitHandler {
  const tokens = createTrackingTokens(ctx.encryption)
  const machines = loadMachineRules(ctx.config.machinesFile)
  const queue = createHitQueue(ctx)
  return {
    readOpen: (token) => tokens.readHit('open', token),
    readClick: (token, coded) => {
      const url = Buffer.from(coded, 'base64url').toString()
      const ref = isRedirectTarget(url) ? tokens.readClick(token, url) : null
      return ref === null ? null : { ...ref, url }
    },
    record: (ref, request) => {
      const userAgent = (request.headers['user-agent'] ?? '').slice(0, MAX_AGENT)
      const url = 'url' in ref ? ref.url : null
      return queue.add({
        messageId: ref.messageId,
        n: ref.n,
        url,
        address: request.address,
        userAgent,
        machine: machines.classify(request),
      })
    },
    get counts() {
      return queue.counts
    },
    drain: () => queue.drain(),
  }
}
