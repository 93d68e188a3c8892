/** Sends TLS reports to receiving domains; disabled without TLS_REPORT_FROM. */
import type { Context } from '#src/context.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { sendTlsReports } from '#src/tls-reports/send.ts'
import type { Round } from './loop.ts'

export function createTlsReportRound(ctx: Context): Round {
  const reporting = {
    ctx,
    acceptor: createAcceptor(ctx),
    http: createHttpClient(ctx.config),
    dns: createDomainDns(ctx.config),
  }
  const from = ctx.config.tlsReportFrom
  return () => (from === null ? Promise.resolve(false) : sendTlsReports(reporting, from))
}
