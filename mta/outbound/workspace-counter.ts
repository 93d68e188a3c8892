/**
 * Counts deliveries and hard bounces of each workspace and stores the counts every few seconds. PostgreSQL away: they
 * are stored later.
 */
import type { Context } from '#src/context.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { addCounts, type WorkspaceCounts } from '#src/workspaces/rates.ts'

const FLUSH_INTERVAL_MS = 5000

type MutableCounts = { -readonly [K in keyof WorkspaceCounts]: WorkspaceCounts[K] }

export interface WorkspaceCounter {
  count(workspaceId: string, outcome: Outcome): void
  stop(): Promise<void>
}

export function startWorkspaceCounter(ctx: Pick<Context, 'db' | 'clock' | 'log'>): WorkspaceCounter {
  let counts = new Map<string, MutableCounts>()
  const countsOf = (workspaceId: string): MutableCounts => {
    const known = counts.get(workspaceId) ?? { workspaceId, delivered: 0, hard: 0, complaints: 0 }
    counts.set(workspaceId, known)
    return known
  }
  async function flush(): Promise<void> {
    const batch = [...counts.values()]
    counts = new Map()
    await addCounts(ctx.db, batch, new Date(ctx.clock.now())).catch((error: unknown) => {
      ctx.log.debug({ err: error }, 'failed to store the rates of workspaces; they are stored with the next')
      for (const { workspaceId, delivered, hard } of batch) {
        countsOf(workspaceId).delivered += delivered
        countsOf(workspaceId).hard += hard
      }
    })
  }
  const timer = setInterval(() => void flush(), FLUSH_INTERVAL_MS)
  return {
    count: (workspaceId, outcome) => {
      if (outcome.kind === 'delivered') countsOf(workspaceId).delivered++
      else if (outcome.kind === 'bounced' && outcome.isHard) countsOf(workspaceId).hard++
    },
    stop: () => {
      clearInterval(timer)
      return flush()
    },
  }
}
