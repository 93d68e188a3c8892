/** Reports to those who hand mail in by SMTP. */
import type { Context } from '#src/context.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { sendDeliveryReports } from '#src/messages/delivery-reports.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 2000

export function deliveryReportLoop(ctx: Context): LoopSpec {
  const acceptor = createAcceptor(ctx)
  return {
    name: 'delivery-reports',
    everyMs: EVERY_MS,
    round: () => sendDeliveryReports({ ...ctx, acceptor }, new Date(ctx.clock.now())),
  }
}
