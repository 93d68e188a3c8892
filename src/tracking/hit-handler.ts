/**
 * What is behind the addresses of open pixels and tracked links: the token is proved, the hit is stored, and only then answered. A link leads
 * only to the URL that its token was made for. Where nothing can be stored, whoever clicked goes where they wanted to go all the same
 * (hit-spool.ts).
 */
import type { Context } from '#src/context.ts'
import { createHits, type Hits } from './hits.ts'
import { mayLeadTo } from './href.ts'
import { loadMachines, type HitRequest } from './machines.ts'
import { createTokens, type HitRef } from './tokens.ts'

export interface LinkHit extends HitRef {
  readonly url: string
}

export interface TrackingDoor {
  /** Null for an address that we did not make. */
  readOpen(token: string): HitRef | null
  /** With where the link leads; null for one that we did not make. */
  readClick(token: string, coded: string): LinkHit | null
  /** Resolves when it may be answered; never rejects. */
  take(ref: HitRef | LinkHit, request: HitRequest): Promise<void>
  readonly counts: Hits['counts']
  drain(): Promise<void>
}

const MAX_AGENT = 2000

/** @throws where MACHINES_FILE cannot be read. */
export function createTrackingDoor(ctx: Pick<Context, 'db' | 'clock' | 'config' | 'log' | 'vault'>): TrackingDoor {
  const tokens = createTokens(ctx.vault)
  const machines = loadMachines(ctx.config.machinesFile)
  const hits = createHits(ctx)
  return {
    readOpen: (token) => tokens.readHit('open', token),
    readClick: (token, coded) => {
      const url = Buffer.from(coded, 'base64url').toString()
      const ref = mayLeadTo(url) ? tokens.readClick(token, url) : null
      return ref === null ? null : { messageId: ref.messageId, n: ref.n, url }
    },
    take: (ref, request) => {
      const userAgent = (request.headers['user-agent'] ?? '').slice(0, MAX_AGENT)
      const url = 'url' in ref ? ref.url : null
      return hits.take({
        messageId: ref.messageId,
        n: ref.n,
        url,
        address: request.address,
        userAgent,
        machine: machines.judge(request),
      })
    },
    get counts() {
      return hits.counts
    },
    drain: () => hits.drain(),
  }
}
