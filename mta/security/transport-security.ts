/**
 * The transport security of one outbound process: the operator's TLS rules, MTA-STS with its refresh, DANE if the
 * resolver validates, hosts with broken TLS, and the counts for TLS reports. A sandbox fetches no policies, because its
 * receiver serves all domains.
 */
import { createBrokenTlsMemory, type BrokenTlsMemory } from './broken-tls.ts'
import { createTlsPolicies, type TlsPolicies, type TlsPolicyDeps } from './policy.ts'
import { createStsFetch } from './sts-fetch.ts'
import { createSts, type StsDeps } from './sts.ts'
import { createStsStore } from './sts-store.ts'
import { createTlsResults, type TlsResults } from './tls-results.ts'
import { watchTlsRules } from '#src/operator/tls-rules.ts'
import type { Context } from '#src/context.ts'
import { createHttpClient } from '#src/net/http-client.ts'

/** Processes claim policies before they refresh them, so more processes do not fetch more. */
const REFRESH_MS = 10 * 60_000

/** Used without TLS_REPORT_FROM: counts nothing. */
const NO_RESULTS: Pick<TlsResults, 'record' | 'stop'> = { record: () => undefined, stop: () => Promise.resolve() }

export interface TransportSecurity {
  readonly policies: TlsPolicies
  readonly brokenTls: BrokenTlsMemory
  readonly results: Pick<TlsResults, 'record'>
  stop(): Promise<void>
}

/** The DNS queries of TLS policies. */
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
    sts.refresh().catch((error: unknown) => log.debug({ err: error }, 'failed to refresh MTA-STS policies'))
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
