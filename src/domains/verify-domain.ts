/**
 * Checks the DNS of a domain and stores the result: on request, or when the check is due. DNS is queried outside any
 * transaction; if the process dies in between, the check is lost and comes again.
 */
import type { Context } from '#src/context.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import type { CommitNotifications } from '#src/queue/notifications.ts'
import type { Domain } from './domains.ts'
import type { DomainDns } from './domain-dns.ts'
import { inspectDomain, type RecordCheck } from './inspect-records.ts'
import { serviceHostsOf } from './records.ts'
import { storeCheckResult } from './check-result.ts'

export interface Verification {
  /** `taken`: the records are right, but another workspace holds the domain verified. */
  readonly kind: 'verified' | 'not-verified' | 'taken' | 'not-found'
  readonly checks: readonly RecordCheck[]
  /** The domain after the check, or before it if it was removed meanwhile. */
  readonly domain: Domain
  /** Pass to `publishNotifications`. If lost, webhooks of a changed status are sent a little later. */
  readonly notifications: CommitNotifications
}

export async function verifyDomain(
  ctx: Pick<Context, 'config' | 'db' | 'clock'>,
  dns: DomainDns,
  domain: Domain,
): Promise<Verification> {
  const startedAt = ctx.clock.now()
  const http = createHttpClient(ctx.config)
  const checks = await inspectDomain({ dns, http, nowMs: startedAt }, domain, serviceHostsOf(ctx.config)).finally(() =>
    http.close(),
  )
  const {
    proof,
    notifications,
    domain: now,
  } = await storeCheckResult(ctx, { domainId: domain.id, workspaceId: domain.workspaceId, startedAt, checks })
  if (now === null) return { kind: 'not-found', checks, domain, notifications }
  if (proof === 'taken') return { kind: 'taken', checks, domain: now, notifications }
  return { kind: proof === 'proven' ? 'verified' : 'not-verified', checks, domain: now, notifications }
}
