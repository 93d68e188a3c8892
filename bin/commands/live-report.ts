/**
 * What `start` reports after everything runs: in a live installation what is missing, what to do, and what is held back
 * meanwhile; in a sandbox with a public HOSTNAME, nothing, because a shell exports it without being asked.
 */
import { listCertificates } from '#src/certificates/certificate-store.ts'
import { pino } from 'pino'
import type { PrintLine } from '#bin/supervisor/user-error.ts'
import { guideOf } from '#src/doctor/guides.ts'
import type { StoreUrls } from '#bin/supervisor/stores.ts'
import type { Config } from '#config/load.ts'
import { listSources } from '#src/egress/sources.ts'
import { type NamedFinding, runLiveChecks } from '#src/going-live/checks.ts'
import { systemClock } from '#src/platform/clock.ts'
import { openDb } from '#src/stores/db.ts'

/** Never rejects: everything runs already. */
export async function reportWhatIsMissing(
  config: Config & Pick<StoreUrls, 'databaseUrl'>,
  printLine: PrintLine,
): Promise<void> {
  if (config.isSandbox && config.mode === null && config.hostname !== null)
    printLine('MAILSTEAD_HOSTNAME is set, but MODE=live is not: this is the sandbox.')
  if (!config.isLive) return
  const db = openDb(config.databaseUrl, pino({ level: 'silent' }), 1)
  try {
    const hasSources = (await listSources(db)).length > 0
    const certificates = await listCertificates(db)
    const findings = await runLiveChecks({ config, clock: systemClock, hasSources, certificates })
    for (const line of missingText(findings)) printLine(line)
  } catch {
    printLine('What is missing could not be checked: mailstead doctor reports it')
  } finally {
    await db.close()
  }
}

/** One line for each finding, then what it means. */
export function missingText(findings: readonly NamedFinding[]): string[] {
  const missing = findings.filter(({ status }) => status === 'failed' || status === 'warning')
  if (missing.length === 0) return ['Nothing is missing for a live installation.']
  const holds = missing.filter(({ status, holds: isRequired }) => status === 'failed' && isRequired)
  return [
    'Missing for a live installation (mailstead doctor shows it again):',
    ...missing.map(({ name, detail, todo }) => `  ${name}: ${detail}\n    → ${todo} (${guideOf(name)})`),
    holds.length === 0
      ? 'Nothing is held back.'
      : `Campaigns are held back until this is fixed: ${holds.map(({ name }) => name).join(', ')}. ` +
        'One-time codes and other single messages are sent.',
  ]
}
