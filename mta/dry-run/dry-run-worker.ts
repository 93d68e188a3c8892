/**
 * Executes requested dry runs in an outbound process, one at a time. It polls for requests every few seconds and when a
 * Redis message wakes it. If the process dies during a dry run, another process claims the request.
 */
import { storeDryRunReport, claimDryRun } from '#src/operator/dry-runs.ts'
import { executeDryRun } from './dry-run.ts'
import type { DryRunDeps } from './dry-run-context.ts'

export interface DryRunWorker {
  /** Polls immediately, because a dry run was requested. */
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
        deps.ctx.log.debug({ err: error }, 'failed to poll for dry runs; PostgreSQL may be unavailable'),
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
      // waits only briefly: another process claims a dry run that does not finish
      await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 1000).unref())])
    },
  }
}
