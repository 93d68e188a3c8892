/**
 * Calculates deliverability scores in sweeps over the contacts that need one. It slows down while DNS does not respond,
 * contacts are imported or a campaign is sent. The position of a sweep is only in memory: after a restart no contact is
 * scored twice, because scored contacts are not in the sweep.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isAnyCampaignSending } from '#src/campaigns/locked-campaign.ts'
import type { Context } from '#src/context.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { isImporting } from '#src/imports/imports.ts'
import { loadDisposableDomains } from '#src/scoring/address-lists.ts'
import { createMailDomainChecker } from '#src/scoring/mail-domain-check.ts'
import { FIRST_CONTACT_ID, scoreBatch, SCORE_SWEEPS, type ScoringDeps } from '#src/scoring/scoring.ts'
import type { Round } from './loop.ts'

/** The pause between two batches: scores are not urgent, and readers of contact lists must not wait. */
const PAUSE_MS = 150

export function createScoreRound(ctx: Context): Round {
  let deps: ScoringDeps | null = null
  let [sweep, after] = [0, FIRST_CONTACT_ID]
  const nextSweep = (): void => {
    sweep = (sweep + 1) % SCORE_SWEEPS.length
    after = FIRST_CONTACT_ID
  }
  return async () => {
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
  }
}
