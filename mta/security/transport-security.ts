/**
 * The transport security of one outbound process: the operator's rules, MTA-STS with its refresh, DANE where the resolver validates, the
 * record of servers with broken TLS, and the counts for TLS reports. A sandbox fetches no policies, since its receiver stands in for all
 * domains.
 */
import { createBrokenTlsMemory, type BrokenTlsMemory } from './broken-tls.ts'
import { createTlsPolicies, type TlsPolicies, type TlsPolicyDeps } from './policy.ts'
import { createStsFetch } from './sts-fetch.ts'
import { createSts, type StsDeps } from './sts.ts'
import { createStsStore } from './sts-store.ts'
import { createTlsResults, type TlsResults } from './tls-results.ts'
import { watchTlsRules } from './tls-rules.ts'
import type { Context } from '#src/context.ts'
import { createHttpClient } from '#src/net/http-client.ts'

/** Processes claim the policies to refresh, so more processes do not fetch more. */
const REFRESH_MS = 10 * 60_000

/** Without TLS_REPORT_FROM nothing is counted. */
const NO_RESULTS: Pick<TlsResults, 'record' | 'stop'> = { record: () => undefined, stop: () => Promise.resolve() }

export interface TransportSecurity {
  readonly policies: TlsPolicies
  readonly brokenTls: BrokenTlsMemory
  readonly results: Pick<TlsResults, 'record'>
  stop(): Promise<void>
}

/** The questions that policies ask of DNS. */
export interface PolicyResolver {
  readonly txt: StsDeps['txt']
  /** DNSSEC-validated answers, for DANE. */
  readonly secure: NonNullable<TlsPolicyDeps['dane']>
}

export function startTransportSecurity(ctx: Context, resolver: PolicyResolver): TransportSecurity {
  const { clock, config, log } = ctx
  const rules = watchTlsRules(ctx)
  const outgoing = createHttpClient(config)
  const fetchPolicy = createStsFetch(outgoing, config.mtaStsPort)
  const sts = createSts({ clock, store: createStsStore(ctx), fetchPolicy, txt: (name) => resolver.txt(name) })
  const timer = setInterval(() => {
    sts.refresh().catch((error: unknown) => log.debug({ err: error }, 'MTA-STS policies could not be refreshed'))
  }, REFRESH_MS)
  const policies = createTlsPolicies({
    clock,
    ruleFor: (domain) => rules.find(domain),
    sts: config.isSandbox ? null : sts,
    dane: config.dnssecResolver === 'yes' && !config.isSandbox ? resolver.secure : null,
  })
  const results = config.tlsReportFrom === null ? NO_RESULTS : createTlsResults(ctx, (name) => resolver.txt(name))
  return {
    policies,
    results,
    brokenTls: createBrokenTlsMemory(ctx),
    stop: async () => {
      clearInterval(timer)
      rules.stop()
      outgoing.close()
      await results.stop()
    },
  }
}
