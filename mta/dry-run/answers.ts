/** Answers the dry runs that were asked for, one at a time: an outbound process looks when it is told, and every few seconds anyway. */
import { answerDryRun, takeDryRun } from '#src/operator/dry-runs.ts'
import { rehearse } from './dry-run.ts'
import type { DryRunDeps } from './run.ts'

export interface DryRunAnswers {
  /** Something was asked. */
  wake(): void
  stop(): Promise<void>
}

const LOOK_MS = 3000

export function answerDryRuns(deps: DryRunDeps): DryRunAnswers {
  let running: Promise<void> | null = null
  let isStopped = false

  async function work(): Promise<void> {
    for (;;) {
      const taken = isStopped ? null : await takeDryRun(deps.ctx.db)
      if (taken === null) return
      await answerDryRun(deps.ctx.db, taken.id, await rehearse(deps, taken.order))
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

  const timer = setInterval(wake, LOOK_MS)
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
