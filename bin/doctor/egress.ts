/** Checks of the egress sources, made now; what the worker found is in `mailstead egress source list`. */
import { DEFAULT_REGION, REGIONS } from '#config/regions.ts'
import { CHECK_NAMES, type CheckName, checkSource, createCheckDeps } from '#src/egress/source-checks.ts'
import { listSources, type EgressSource } from '#src/egress/sources.ts'
import { type Check, failed, type Finding, ok, type Patient, skipped, warning } from './check.ts'

const WITHIN_MS = 30_000

/** By how bad they are. */
const STATUSES = ['failed', 'warning', 'ok', 'skipped'] as const satisfies readonly Finding['status'][]

async function sourcesOf({ db }: Patient): Promise<readonly EgressSource[] | Finding> {
  if (db === null) return skipped('PostgreSQL is away')
  const sources = await listSources(db)
  return sources.length === 0 ? skipped('no egress source is set: the system chooses the address') : sources
}

const SOURCES: Check = {
  name: 'egress sources',
  look: async (patient) => {
    const sources = await sourcesOf(patient)
    if (!('map' in sources)) return sources
    const detail = sources.map(({ name, state }) => `${name} ${state}`).join(', ')
    const usable = sources.filter(({ state, pools }) => (state === 'active' || state === 'warming') && pools.length > 0)
    const homes = new Set(sources.flatMap(({ pools }) => pools.map(({ pool }) => pool)))
    if (usable.length === 0)
      return failed(detail, 'resume a source, or bring an address back: while none sends, mail waits')
    const home = REGIONS[DEFAULT_REGION].pool
    if (!homes.has(home)) return warning(detail, `put a source into ${home}: mail whose own pool is empty leaves by it`)
    const gone = sources.filter(({ state }) => state === 'gone').map(({ address }) => address)
    return gone.length === 0
      ? ok(detail)
      : warning(detail, `bring ${gone.join(', ')} back to a machine that sends, or remove the source`)
  },
}

function checkOf(name: CheckName): Check {
  return {
    name: `egress ${name}`,
    withinMs: WITHIN_MS,
    look: async (patient) => {
      const sources = await sourcesOf(patient)
      if (!('map' in sources)) return sources
      const means = createCheckDeps(patient.config)
      return sum(
        await Promise.all(
          sources.map(async (source) => ({ source: source.name, ...(await checkSource(means, name, source)) })),
        ),
      )
    },
  }
}

/** The worst of them speaks for all. */
function sum(findings: readonly (Finding & { readonly source: string })[]): Finding {
  const status = STATUSES.find((one) => findings.some((finding) => finding.status === one)) ?? 'skipped'
  const meant = findings.filter((finding) => finding.status === status)
  const detail = [
    ...new Set(meant.map((one) => (status === 'skipped' ? one.detail : `${one.source}: ${one.detail}`))),
  ].join('; ')
  return { status, detail, todo: [...new Set(meant.map(({ todo }) => todo))].filter((todo) => todo !== '').join('; ') }
}

export const EGRESS: readonly Check[] = [SOURCES, ...CHECK_NAMES.map(checkOf)]
