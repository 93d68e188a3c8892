/**
 * What sources need without anybody asking: they are checked when it is due, what was found is kept, and a change for the worse is told in
 * the log; warm-ups whose time is over are ended. Any number of workers share the work.
 */
import type { Context } from '#src/context.ts'
import { claimDue, storeFindings, type DueSource } from '#src/egress/check-store.ts'
import { CHECK_NAMES, checkSource, createCheckMeans, type CheckMeans } from '#src/egress/checks.ts'
import { endWarmUps } from '#src/egress/warm-up-days.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 30_000
const AT_ONCE = 10

export function egressLoop(ctx: Context): LoopSpec {
  const means = createCheckMeans(ctx.config)
  return {
    name: 'egress',
    everyMs: EVERY_MS,
    round: async () => {
      const warm = await endWarmUps(ctx.db, ctx.config.warmUp, new Date(ctx.clock.now()))
      for (const source of warm) ctx.log.info({ source }, 'the warm-up of a source is over')
      const due = await claimDue(ctx, AT_ONCE)
      await Promise.all(due.map((source) => examine(ctx, means, source)))
      return due.length === AT_ONCE
    },
  }
}

async function examine(ctx: Context, means: CheckMeans, source: DueSource): Promise<void> {
  const findings = await Promise.all(
    CHECK_NAMES.map(async (check) => ({ check, ...(await checkSource(means, check, source)) })),
  )
  const changed = await storeFindings(ctx.db, source.id, findings, new Date(ctx.clock.now()))
  for (const { check, status, detail, todo } of findings) {
    if (!changed.includes(check) || status === 'skipped') continue
    const level = status === 'failed' ? 'warn' : 'info'
    ctx.log[level](
      { source: source.name, check, detail, todo: todo === '' ? undefined : todo },
      `a check of a source: ${status}`,
    )
  }
}
