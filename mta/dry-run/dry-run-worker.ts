/** Answers the dry runs that were asked for, one at a time: an outbound process looks when it is told, and every few seconds anyway. */
import { storeDryRunReport, claimDryRun } from '#src/operator/dry-runs.ts'
import { executeDryRun } from './dry-run.ts'
import type { DryRunDeps } from './dry-run-context.ts'

export interface DryRunWorker {
  /** Something was asked. */
  wake(): void
  stop(): Promise<void>
}

const POLL_MS = 3000

export function startDryRunWorker(deps: DryRunDeps): DryRunWorker {
  let running: Promise<void> | null = null
  let isStopped = false

  async function work(): Promise<void> {
    for (;;) {
      const claimed = isStopped ? null : await claimDryRun(deps.ctx.db)
      if (claimed === null) return
      await storeDryRunReport(deps.ctx.db, claimed.id, await executeDryRun(deps, claimed.order))
    }
  }

  function wake(): void {
    if (running !== null || isStopped) return
    running = work()
      .catch((error: unknown) =>
        deps.ctx.log.debug({ err: error }, 'dry runs cannot be looked for; PostgreSQL is away'),
      )
      .finally(() => {
        running = null
      })
  }

  const timer = setInterval(wake, POLL_MS)
  return {
    wake,
    stop: async () => {
      isStopped = true
      clearInterval(timer)
      // one that is under way is taken up by another process; it is not waited for longer than a moment
      await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 1000).unref())])
    },
  }
}
