/**
 * Checks once a minute what a live installation needs (src/going-live/), stores the findings, logs what changed, and
 * holds campaigns back or lets them go. Blocklists limit how often they may be queried, so each worker asks them every
 * six hours. Outside of MODE=live nothing is queried, and old findings are removed.
 */
import { listCertificates } from '#src/certificates/certificate-store.ts'
import type { Context } from '#src/context.ts'
import { applyCampaignHold } from '#src/going-live/campaign-hold.ts'
import { LIVE_CHECK_NAMES, type NamedFinding, runLiveChecks } from '#src/going-live/checks.ts'
import { clearLiveFindings, storeLiveFindings } from '#src/going-live/store.ts'
import { listSources } from '#src/egress/sources.ts'
import type { Round } from './loop.ts'

const BLOCKLIST_INTERVAL_MS = 6 * 3600 * 1000
const LEVELS = { failed: 'warn', warning: 'warn', ok: 'info', skipped: 'debug', unknown: 'debug' } as const

export function createLiveCheckRound(ctx: Context): Round {
  let blocklistsAtMs = -Infinity
  return async () => {
    if (!ctx.config.isLive) {
      await clearLiveFindings(ctx.db)
      await applyCampaignHold(ctx)
      return false
    }
    const asksBlocklists = performance.now() - blocklistsAtMs > BLOCKLIST_INTERVAL_MS
    const names = LIVE_CHECK_NAMES.filter((name) => name !== 'blocklists' || asksBlocklists)
    const hasSources = (await listSources(ctx.db)).length > 0
    const certificates = await listCertificates(ctx.db)
    const findings = await runLiveChecks({ config: ctx.config, clock: ctx.clock, hasSources, certificates }, names)
    const changed = await storeLiveFindings(ctx.db, findings, new Date(ctx.clock.now()))
    if (asksBlocklists) blocklistsAtMs = performance.now()
    for (const finding of findings) if (changed.includes(finding.name)) logFinding(ctx, finding)
    await applyCampaignHold(ctx)
    return false
  }
}

function logFinding({ log }: Context, { name, status, detail, todo, holds }: NamedFinding): void {
  const effect = status === 'failed' && holds ? 'campaigns are held back until it is fixed' : undefined
  const fields = { check: name, detail, todo: todo === '' ? undefined : todo, effect }
  log[LEVELS[status]](fields, `live check ${name}: ${status}`)
}
