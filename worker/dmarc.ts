/** Looks up the names of sources in DMARC reports. */
import type { Context } from '#src/context.ts'
import { nameSources } from '#src/dmarc/source-names.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import type { Round } from './loop.ts'

export function createSourceNameRound(ctx: Context): Round {
  const dns = createDomainDns(ctx.config)
  return () => nameSources(ctx.db, dns, new Date(ctx.clock.now()))
}
