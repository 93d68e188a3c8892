/**
 * Remembers hosts that offer TLS but fail in the handshake, so that the next message does not repeat the failure: for
 * hours in Redis for all processes, and in memory. A host with old TLS is remembered longer; one that got mail in plain
 * text is tried again soon, because an attacker may have caused the failure. While Redis is away, each process learns
 * on its own.
 */
import type { Context } from '#src/context.ts'
import { brokenTlsKey } from '#src/queue/keys.ts'

export type BrokenTls = 'reduced' | 'plain'

export interface BrokenTlsMemory {
  /** The TLS level to begin with at this host; null is the default. */
  find(host: string): Promise<BrokenTls | null>
  /** Records the level that worked after better ones failed. */
  record(host: string, level: BrokenTls): Promise<void>
}

const HOUR_SECONDS = 3600
const SECONDS: Readonly<Record<BrokenTls, number>> = { reduced: 12 * HOUR_SECONDS, plain: 2 * HOUR_SECONDS }
/** How long an answer of Redis is cached. */
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
    log.info({ host, level }, 'TLS handshake with a host failed; using a lower level for some hours')
    await redis.set(brokenTlsKey(host), level, 'EX', SECONDS[level]).catch(() => undefined)
  }

  return { find, record }
}
