/**
 * What is behind the addresses of open pixels and tracked links: the token is proved, the hit is stored, and only then answered. A link leads
 * only to the URL that its token was made for. Where nothing can be stored, whoever clicked goes where they wanted to go all the same
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
  /** Null for an address that we did not make. */
  readOpen(token: string): HitRef | null
  /** With where the link leads; null for one that we did not make. */
  readClick(token: string, coded: string): LinkHit | null
  /** Resolves when it may be answered; never rejects. */
  record(ref: HitRef | LinkHit, request: HitRequest): Promise<void>
  readonly counts: HitQueue['counts']
  drain(): Promise<void>
}

const MAX_AGENT = 2000

/** @throws where MACHINES_FILE cannot be read. */
export function createTrackingHitHandler(ctx: Pick<Context, 'db' | 'clock' | 'config' | 'log' | 'encryption'>): TrackingHitHandler {
  const tokens = createTrackingTokens(ctx.encryption)
  const machines = loadMachineRules(ctx.config.machinesFile)
  const queue = createHitQueue(ctx)
  return {
    readOpen: (token) => tokens.readHit('open', token),
    readClick: (token, coded) => {
      const url = Buffer.from(coded, 'base64url').toString()
      const ref = isRedirectTarget(url) ? tokens.readClick(token, url) : null
      return ref === null ? null : { messageId: ref.messageId, n: ref.n, url }
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
