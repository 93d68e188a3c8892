/**
 * Deliverability scores: sweeps over the contacts that need one. While DNS does not answer, contacts are being imported, or a campaign is
 * sent, it takes its time. Where a sweep was is only in memory: begun anew, it meets nobody twice, for who was scored is out of it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isAnyCampaignSending } from '#src/campaigns/locked-campaign.ts'
import type { Context } from '#src/context.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { isImporting } from '#src/imports/imports.ts'
import { loadDisposableDomains } from '#src/scoring/address-lists.ts'
import { createMailDomainChecker } from '#src/scoring/mail-domain-check.ts'
import { FIRST_CONTACT_ID, scoreBatch, SCORE_SWEEPS, type ScoringDeps } from '#src/scoring/scoring.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5000
/** Between two batches of a sweep: a million contacts that were imported are no hurry, and those who read lists meanwhile are. */
const PAUSE_MS = 150

export function scoreLoop(ctx: Context): LoopSpec {
  let deps: ScoringDeps | null = null
  let [sweep, after] = [0, FIRST_CONTACT_ID]
  const nextSweep = (): void => {
    sweep = (sweep + 1) % SCORE_SWEEPS.length
    after = FIRST_CONTACT_ID
  }
  return {
    name: 'scores',
    everyMs: EVERY_MS,
    round: async () => {
      deps ??= {
        domains: createMailDomainChecker(createDomainDns(ctx.config), ctx.clock),
        isDisposable: loadDisposableDomains(),
      }
      const result = await scoreBatch(ctx, deps, SCORE_SWEEPS[sweep] ?? 'unscored', after)
      if (result.kind === 'batch') after = result.last
      else nextSweep()
      const mayGoOn =
        (result.kind === 'batch' ? result.scored > 0 : sweep !== 0) &&
        !(await isImporting(ctx.db)) &&
        !(await isAnyCampaignSending(ctx.db))
      if (mayGoOn) await sleep(PAUSE_MS)
      return mayGoOn
    },
  }
}
