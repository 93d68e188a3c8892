/** Checks the egress sources now. The results of the worker's checks are in `mailstead egress source list`. */
import { DEFAULT_REGION, REGIONS } from '#config/regions.ts'
import { CHECK_NAMES, type CheckName, checkSource, createCheckDeps } from '#src/egress/source-checks.ts'
import { listSources, type EgressSource } from '#src/egress/sources.ts'
import { createFinding, detailOf, joinSaid, sayAbout, todoOf } from '#src/platform/finding-text.ts'
import { type DoctorCheck, failed, type DoctorFinding, ok, type CheckContext, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

const WITHIN_MS = 30_000

/** The worst first. */
const STATUSES = ['failed', 'warning', 'ok', 'skipped'] as const satisfies readonly DoctorFinding['status'][]

async function loadSources({ db }: CheckContext): Promise<readonly EgressSource[] | DoctorFinding> {
  if (db === null) return skipped(doctorText('postgres_away'))
  const sources = await listSources(db)
  return sources.length === 0 ? skipped(doctorText('no_source')) : sources
}

const SOURCES: DoctorCheck = {
  name: 'egress sources',
  run: async (patient) => {
    const sources = await loadSources(patient)
    if (!('map' in sources)) return sources
    const detail = sources.map(({ name, state }) => `${name} ${state}`).join(', ')
    const usable = sources.filter(({ state, pools }) => (state === 'active' || state === 'warming') && pools.length > 0)
    const poolNames = new Set(sources.flatMap(({ pools }) => pools.map(({ pool }) => pool)))
    if (usable.length === 0) return failed(detail, doctorText('sources_todo'))
    const defaultPool = REGIONS[DEFAULT_REGION].pool
    if (!poolNames.has(defaultPool)) return warning(detail, doctorText('default_pool_todo', { pool: defaultPool }))
    const gone = sources.filter(({ state }) => state === 'gone').map(({ address }) => address)
    return gone.length === 0
      ? ok(detail)
      : warning(detail, doctorText('source_gone_todo', { addresses: gone.join(', ') }))
  },
}

function createCheck(name: CheckName): DoctorCheck {
  return {
    name: `egress ${name}`,
    withinMs: WITHIN_MS,
    run: async (patient) => {
      const sources = await loadSources(patient)
      if (!('map' in sources)) return sources
      const deps = createCheckDeps(patient.config)
      return combineResults(
        await Promise.all(
          sources.map(async (source) => ({ source: source.name, ...(await checkSource(deps, name, source)) })),
        ),
      )
    },
  }
}

/** Combines the results of all sources; the worst status wins. */
function combineResults(findings: readonly (DoctorFinding & { readonly source: string })[]): DoctorFinding {
  const status = STATUSES.find((candidate) => findings.some((finding) => finding.status === candidate)) ?? 'skipped'
  const worst = findings.filter((finding) => finding.status === status)
  const details = worst.map((one) => (status === 'skipped' ? detailOf(one) : sayAbout(one.source, detailOf(one))))
  return createFinding(status, joinSaid(details), joinSaid(worst.map(todoOf)))
}

export const EGRESS: readonly DoctorCheck[] = [SOURCES, ...CHECK_NAMES.map(createCheck)]
