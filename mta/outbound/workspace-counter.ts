/** Counts for each workspace what its mail comes to, and adds it to the store every few seconds. What could not be added is added later. */
import type { Context } from '#src/context.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { addCounts, type WorkspaceCounts } from '#src/workspaces/rates.ts'

const EVERY_MS = 5000

type Mutable = { -readonly [K in keyof WorkspaceCounts]: WorkspaceCounts[K] }

export interface WorkspaceCounter {
  note(workspaceId: string, outcome: Outcome): void
  stop(): Promise<void>
}

export function countWorkspaces(ctx: Pick<Context, 'db' | 'clock' | 'log'>): WorkspaceCounter {
  let counts = new Map<string, Mutable>()
  const of = (workspaceId: string): Mutable => {
    const known = counts.get(workspaceId) ?? { workspaceId, delivered: 0, hard: 0, complaints: 0 }
    counts.set(workspaceId, known)
    return known
  }
  async function flush(): Promise<void> {
    const batch = [...counts.values()]
    counts = new Map()
    await addCounts(ctx.db, batch, new Date(ctx.clock.now())).catch((error: unknown) => {
      ctx.log.debug({ err: error }, 'rates of workspaces could not be stored; they are with the next')
      for (const { workspaceId, delivered, hard } of batch) {
        of(workspaceId).delivered += delivered
        of(workspaceId).hard += hard
      }
    })
  }
  const timer = setInterval(() => void flush(), EVERY_MS)
  return {
    note: (workspaceId, outcome) => {
      if (outcome.kind === 'delivered') of(workspaceId).delivered++
      else if (outcome.kind === 'bounced' && outcome.isHard) of(workspaceId).hard++
    },
    stop: () => {
      clearInterval(timer)
      return flush()
    },
  }
}
