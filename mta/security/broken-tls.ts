/**
 * Servers that offer TLS and cannot do it, so that the next mail does not repeat what failed: remembered for hours in Redis for all
 * processes, and here. A server that only knows old TLS may be forgotten late; one that got its mail in plain text is asked again soon,
 * for it may have been somebody on the way. Redis away: each process finds out for itself.
 */
import type { Context } from '#src/context.ts'
import { brokenTlsKey } from '#src/queue/keys.ts'

export type BrokenTls = 'reduced' | 'plain'

export interface BrokenTlsMemory {
  /** What to begin with at this host; null is as usual. */
  find(host: string): Promise<BrokenTls | null>
  /** The host was opened with this, after better had failed. */
  record(host: string, level: BrokenTls): Promise<void>
}

const HOUR_SECONDS = 3600
const SECONDS: Readonly<Record<BrokenTls, number>> = { reduced: 12 * HOUR_SECONDS, plain: 2 * HOUR_SECONDS }
/** Until Redis is asked again. */
const KNOWN_MS = 60_000
const MAX_KNOWN = 10_000

export function createBrokenTlsMemory({
  redis,
  clock,
  log,
}: Pick<Context, 'redis' | 'clock' | 'log'>): BrokenTlsMemory {
  const known = new Map<string, { readonly level: BrokenTls | null; readonly untilMs: number }>()

  function remember(host: string, level: BrokenTls | null, ms: number): void {
    known.delete(host)
    known.set(host, { level, untilMs: clock.now() + ms })
    const [oldest] = known.keys()
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
  }

  async function find(host: string): Promise<BrokenTls | null> {
    const entry = known.get(host)
    if (entry !== undefined && clock.now() < entry.untilMs) return entry.level
    const stored = await redis.get(brokenTlsKey(host)).catch(() => null)
    const level = stored === 'reduced' || stored === 'plain' ? stored : null
    remember(host, level, KNOWN_MS)
    return level
  }

  async function record(host: string, level: BrokenTls): Promise<void> {
    remember(host, level, SECONDS[level] * 1000)
    log.info({ host, level }, 'TLS of this server is broken; remembered for some hours')
    await redis.set(brokenTlsKey(host), level, 'EX', SECONDS[level]).catch(() => undefined)
  }

  return { find, record }
}
