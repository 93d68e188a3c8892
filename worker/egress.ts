/**
 * Maintains egress sources: checks them when they are due, stores the results, logs changes, and ends warm-ups that are
 * over. Any number of workers share the work.
 */
import type { Context } from '#src/context.ts'
import { claimDueSources, storeFindings, type DueSource } from '#src/egress/check-store.ts'
import { CHECK_NAMES, checkSource, createCheckDeps, type CheckDeps } from '#src/egress/source-checks.ts'
import { endWarmUps } from '#src/egress/warm-up-days.ts'
import type { Round } from './loop.ts'

const BATCH = 10

export function createSourceCheckRound(ctx: Context): Round {
  const deps = createCheckDeps(ctx.config)
  return async () => {
    const warm = await endWarmUps(ctx.db, ctx.config.warmUp, new Date(ctx.clock.now()))
    for (const source of warm) ctx.log.info({ source }, 'warm-up of a source finished')
    const due = await claimDueSources(ctx, BATCH)
    await Promise.all(due.map((source) => checkAndStore(ctx, deps, source)))
    return due.length === BATCH
  }
}

async function checkAndStore(ctx: Context, deps: CheckDeps, source: DueSource): Promise<void> {
  const findings = await Promise.all(
    CHECK_NAMES.map(async (check) => ({ check, ...(await checkSource(deps, check, source)) })),
  )
  const changed = await storeFindings(ctx.db, source.id, findings, new Date(ctx.clock.now()))
  for (const { check, status, detail, todo } of findings) {
    if (!changed.includes(check) || status === 'skipped') continue
    const level = status === 'failed' ? 'warn' : 'info'
    ctx.log[level](
      { source: source.name, check, detail, todo: todo === '' ? undefined : todo },
      `source check: ${status}`,
    )
  }
}
