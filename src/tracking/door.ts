/**
 * What is behind the addresses of open pixels and tracked links: the token is proved, the hit is stored, and only then answered. A link leads
 * only to the URL that its token was made for. Where nothing can be stored (PostgreSQL away or silent), whoever clicked goes where they
 * wanted to go all the same: the hit is lost, and the log says so.
 */
import type { Context } from '#src/context.ts'
import { createHits, type TakenHit } from './hits.ts'
import { mayLeadTo } from './href.ts'
import { loadMachines, type HitRequest } from './machines.ts'
import { createTokens } from './tokens.ts'

export interface TrackingDoor {
  /** False for an address that we did not make. Resolves after the commit. */
  open(token: string, request: HitRequest): Promise<boolean>
  /** Where the link leads; null for one that we did not make. Resolves after the commit. */
  click(token: string, coded: string, request: HitRequest): Promise<string | null>
  drain(): Promise<void>
}

/** Longer than a commit takes under load, shorter than a person waits. */
const PATIENCE_MS = 3000
const MAX_AGENT = 2000

/** @throws where MACHINES_FILE cannot be read. */
export function createTrackingDoor(ctx: Pick<Context, 'db' | 'clock' | 'config' | 'log' | 'vault'>): TrackingDoor {
  const tokens = createTokens(ctx.vault)
  const machines = loadMachines(ctx.config.machinesFile)
  const hits = createHits(ctx)

  async function take(hit: TakenHit): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('it took too long')), PATIENCE_MS)
    })
    try {
      await Promise.race([hits.take(hit), silence])
    } catch (error) {
      ctx.log.warn({ err: error, id: hit.messageId, n: hit.n }, 'an open or a click could not be stored')
    } finally {
      clearTimeout(timer)
    }
  }

  const aboutOf = (request: HitRequest): Pick<TakenHit, 'address' | 'userAgent' | 'machine'> => ({
    address: request.address, userAgent: (request.headers['user-agent'] ?? '').slice(0, MAX_AGENT), machine: machines.judge(request),
  })

  return {
    open: async (token, request) => {
      const ref = tokens.readHit('open', token)
      if (ref !== null) await take({ ...ref, url: null, ...aboutOf(request) })
      return ref !== null
    },
    click: async (token, coded, request) => {
      const url = Buffer.from(coded, 'base64url').toString()
      const ref = mayLeadTo(url) ? tokens.readHit('click', token, url) : null
      if (ref === null) return null
      await take({ ...ref, url, ...aboutOf(request) })
      return url
    },
    drain: () => hits.drain(),
  }
}
