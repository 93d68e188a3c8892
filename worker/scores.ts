/**
 * Deliverability scores: sweeps over the contacts that need one. While DNS does not answer, contacts are being imported, or a campaign is
 * sent, it takes its time. Where a sweep was is only in memory: begun anew, it meets nobody twice, for who was scored is out of it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isSending } from '#src/campaigns/running.ts'
import type { Context } from '#src/context.ts'
import { createDomainDns } from '#src/domains/dns.ts'
import { isImporting } from '#src/imports/imports.ts'
import { loadDisposable } from '#src/scoring/address-lists.ts'
import { createMailDomains } from '#src/scoring/mail-domain-check.ts'
import { FIRST, scoreBatch, SWEEPS, type ScoreMeans } from '#src/scoring/scoring.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5000
/** Between two batches of a sweep: a million contacts that were imported are no hurry, and those who read lists meanwhile are. */
const BREATH_MS = 150

export function scoreLoop(ctx: Context): LoopSpec {
  let means: ScoreMeans | null = null
  let [sweep, after] = [0, FIRST]
  const nextSweep = (): void => {
    sweep = (sweep + 1) % SWEEPS.length
    after = FIRST
  }
  return {
    name: 'scores',
    everyMs: EVERY_MS,
    round: async () => {
      means ??= { domains: createMailDomains(createDomainDns(ctx.config), ctx.clock), isDisposable: loadDisposable() }
      const result = await scoreBatch(ctx, means, SWEEPS[sweep] ?? 'unscored', after)
      if (result.kind === 'batch') after = result.last
      else nextSweep()
      const mayGoOn =
        (result.kind === 'batch' ? result.scored > 0 : sweep !== 0) &&
        !(await isImporting(ctx.db)) &&
        !(await isSending(ctx.db))
      if (mayGoOn) await sleep(BREATH_MS)
      return mayGoOn
    },
  }
}
