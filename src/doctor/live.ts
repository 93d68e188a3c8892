/**
 * What a live installation needs (src/going-live/), checked now and from this machine; the worker checks the same once
 * a minute. Without MODE nothing is held back because of it, so a failure is a warning then.
 */
import { listCertificates } from '#src/certificates/certificate-store.ts'
import { LIVE_CHECK_NAMES, type LiveCheckName, runLiveChecks } from '#src/going-live/checks.ts'
import { listSources } from '#src/egress/sources.ts'
import { createFinding, detailOf, joinSaid, todoOf } from '#src/platform/finding-text.ts'
import { systemClock } from '#src/platform/clock.ts'
import { type DoctorFinding, type DoctorCheck, skipped } from './check.ts'
import { doctorText } from './finding-texts.ts'

const WITHIN_MS = 30_000

export const LIVE: readonly DoctorCheck[] = LIVE_CHECK_NAMES.map(createCheck)

function createCheck(name: LiveCheckName): DoctorCheck {
  return {
    name,
    withinMs: WITHIN_MS,
    run: async ({ config, db }) => {
      if (config.isSandbox) return skipped(doctorText('no_mail_leaves'))
      const hasSources = db !== null && (await listSources(db)).length > 0
      const certificates = db === null ? [] : await listCertificates(db)
      const [finding] = await runLiveChecks({ config, clock: systemClock, hasSources, certificates }, [name])
      if (finding === undefined) return skipped(doctorText('not_checked'))
      const { status, holds } = finding
      const effect = status === 'failed' && holds && config.isLive ? [doctorText('campaigns_held')] : []
      return createFinding(statusOf(status, config.isLive), joinSaid([detailOf(finding), ...effect]), todoOf(finding))
    },
  }
}

function statusOf(
  status: Awaited<ReturnType<typeof runLiveChecks>>[number]['status'],
  isLive: boolean,
): DoctorFinding['status'] {
  if (status === 'unknown') return 'skipped'
  return status === 'failed' && !isLive ? 'warning' : status
}
