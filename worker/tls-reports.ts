/** Reports to domains about the TLS that we met at their hosts; none without TLS_REPORT_FROM. */
import type { Context } from '#src/context.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { sendTlsReports } from '#src/tls-reports/send.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5 * 60_000
const LEAST_MS = 1000

export function tlsReportLoop(ctx: Context): LoopSpec {
  const reporting = {
    ctx,
    acceptor: createAcceptor(ctx),
    http: createHttpClient(ctx.config),
    dns: createDomainDns(ctx.config),
  }
  const from = ctx.config.tlsReportFrom
  const everyMs = Math.min(EVERY_MS, Math.max(LEAST_MS, EVERY_MS * ctx.config.retryScale))
  return {
    name: 'TLS reports',
    everyMs,
    round: () => (from === null ? Promise.resolve(false) : sendTlsReports(reporting, from)),
  }
}
