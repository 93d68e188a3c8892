/**
 * Transport security of one outbound process, put together: the operator's rules, MTA-STS with its refresher, DANE where the resolver
 * validates, the memory of servers whose TLS is broken, and what is counted for those who want reports. A sandbox asks nobody, for its
 * receivers stand in for all domains.
 */
import { createBrokenTlsMemory, type BrokenTlsMemory } from '#mta/security/broken-tls.ts'
import type { Resolver } from '#mta/route/resolve.ts'
import { createTlsPolicies, type TlsPolicies } from '#mta/security/policy.ts'
import { createStsFetch } from '#mta/security/sts-fetch.ts'
import { createSts } from '#mta/security/sts.ts'
import { createStsStore } from '#mta/security/sts-store.ts'
import { createTlsResults, type TlsResults } from '#mta/security/tls-results.ts'
import { watchTlsRules } from '#mta/security/tls-rules.ts'
import type { Context } from '#src/context.ts'
import { createOutgoing } from '#src/outgoing.ts'

/** What is claimed by one process is not claimed by another, so more processes do not ask more. */
const REFRESH_MS = 10 * 60_000

/** Nobody is to be told. */
const UNCOUNTED: Pick<TlsResults, 'note' | 'stop'> = { note: () => undefined, stop: () => Promise.resolve() }

export interface TransportSecurity {
  readonly policies: TlsPolicies
  readonly brokenTls: BrokenTlsMemory
  readonly results: Pick<TlsResults, 'note'>
  stop(): Promise<void>
}

export function startTransportSecurity(ctx: Context, resolver: Pick<Resolver, 'txt' | 'secure'>): TransportSecurity {
  const { clock, config, log } = ctx
  const rules = watchTlsRules(ctx)
  const outgoing = createOutgoing(config)
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
  const results = config.tlsReportFrom === null ? UNCOUNTED : createTlsResults(ctx, (name) => resolver.txt(name))
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
