/**
 * Looks at the DNS of a domain and writes down what follows: by hand, or when its time has come. DNS is asked outside of any transaction;
 * dying in between loses a look, which comes again.
 */
import type { Context } from '#src/context.ts'
import type { News } from '#src/queue/notifications.ts'
import type { Domain } from './domains.ts'
import type { DomainDns } from './dns.ts'
import { inspectDomain, type RecordCheck } from './inspect.ts'
import { placeOf } from './records.ts'
import { settleCheck } from './check-result.ts'

export interface Verification {
  /** `taken`: the records are right, but another workspace holds the domain. */
  readonly kind: 'verified' | 'not-verified' | 'taken' | 'not-found'
  readonly checks: readonly RecordCheck[]
  /** As it is after the look, or was before where it is gone. */
  readonly domain: Domain
  /** For `announce`; lost, webhooks of a changed status are sent a little later. */
  readonly news: News
}

export async function verifyDomain(
  ctx: Pick<Context, 'config' | 'db' | 'clock'>,
  dns: DomainDns,
  domain: Domain,
): Promise<Verification> {
  const begunAt = ctx.clock.now()
  const checks = await inspectDomain(dns, domain, placeOf(ctx.config))
  const {
    proof,
    news,
    domain: now,
  } = await settleCheck(ctx, { domainId: domain.id, workspaceId: domain.workspaceId, begunAt, checks })
  if (now === null) return { kind: 'not-found', checks, domain, news }
  if (proof === 'taken') return { kind: 'taken', checks, domain: now, news }
  return { kind: proof === 'proven' ? 'verified' : 'not-verified', checks, domain: now, news }
}
