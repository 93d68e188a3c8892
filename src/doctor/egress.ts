/** Checks the egress sources now. The results of the worker's checks are in `mailstead egress source list`. */
import { DEFAULT_REGION, REGIONS } from '#config/regions.ts'
import { CHECK_NAMES, type CheckName, checkSource, createCheckDeps } from '#src/egress/source-checks.ts'
import { listSources, type EgressSource } from '#src/egress/sources.ts'
import { type DoctorCheck, failed, type DoctorFinding, ok, type CheckContext, skipped, warning } from './check.ts'

const WITHIN_MS = 30_000

/** The worst first. */
const STATUSES = ['failed', 'warning', 'ok', 'skipped'] as const satisfies readonly DoctorFinding['status'][]

async function loadSources({ db }: CheckContext): Promise<readonly EgressSource[] | DoctorFinding> {
  if (db === null) return skipped('PostgreSQL is away')
  const sources = await listSources(db)
  return sources.length === 0 ? skipped('no egress source exists: the system chooses the address') : sources
}

const SOURCES: DoctorCheck = {
  name: 'egress sources',
  run: async (patient) => {
    const sources = await loadSources(patient)
    if (!('map' in sources)) return sources
    const detail = sources.map(({ name, state }) => `${name} ${state}`).join(', ')
    const usable = sources.filter(({ state, pools }) => (state === 'active' || state === 'warming') && pools.length > 0)
    const poolNames = new Set(sources.flatMap(({ pools }) => pools.map(({ pool }) => pool)))
    if (usable.length === 0)
      return failed(detail, 'resume a source, or restore its address; until a source is usable, mail waits')
    const defaultPool = REGIONS[DEFAULT_REGION].pool
    if (!poolNames.has(defaultPool))
      return warning(detail, `add a source to ${defaultPool}: it sends the mail of pools without sources`)
    const gone = sources.filter(({ state }) => state === 'gone').map(({ address }) => address)
    return gone.length === 0
      ? ok(detail)
      : warning(detail, `add ${gone.join(', ')} to a machine that sends, or remove the source`)
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
  const detail = [
    ...new Set(
      worst.map((candidate) => (status === 'skipped' ? candidate.detail : `${candidate.source}: ${candidate.detail}`)),
    ),
  ].join('; ')
  return {
    status,
    detail,
    todo: [...new Set(worst.map(({ todo }) => todo))].filter((todo) => todo !== '').join('; '),
  }
}

export const EGRESS: readonly DoctorCheck[] = [SOURCES, ...CHECK_NAMES.map(createCheck)]
