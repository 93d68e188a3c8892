/** Reports to domains about the TLS that we met at their hosts; none without TLS_REPORT_FROM. */
import type { Context } from '#src/context.ts'
import { createDomainDns } from '#src/domains/dns.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { createOutgoing } from '#src/outgoing.ts'
import { sendTlsReports } from '#src/tls-reports/send.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5 * 60_000

export function tlsReportLoop(ctx: Context): LoopSpec {
  const reporting = { ctx, acceptor: createAcceptor(ctx), outgoing: createOutgoing(ctx.config), dns: createDomainDns(ctx.config) }
  const from = ctx.config.tlsReportFrom
  return { name: 'TLS reports', everyMs: EVERY_MS, round: () => from === null ? Promise.resolve(false) : sendTlsReports(reporting, from) }
}
