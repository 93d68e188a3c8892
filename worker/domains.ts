/**
 * Maintains sending domains: checks their DNS when it is due, looks up their registration, and fails the queued mail of
 * removed domains. Any number of workers share the work by claims (`src/domains/due-checks.ts`); a domain whose check
 * failed is checked again when its claim expires.
 */
import type { Context } from '#src/context.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { findDomain } from '#src/domains/domains.ts'
import { claimChecks, claimRegistrations } from '#src/domains/due-checks.ts'
import { updateRegistration } from '#src/domains/registration.ts'
import { listDueRemovals, rescheduleRemoval } from '#src/domains/domain-removal.ts'
import { verifyDomain } from '#src/domains/verify-domain.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import { failQueuedMail } from '#src/messages/removed-domain-mail.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import type { Round } from './loop.ts'

/**
 * Concurrent checks. A check makes up to twenty DNS queries, and a zone that is slow on purpose must not delay others.
 */
const CHECKS_PER_ROUND = 50
const BATCH = 10
/** A cached key may be accepted for a few seconds after its domain is removed; that mail must fail too. */
const AFTERMATH_MS = 60_000

export function createDomainCheckRound(ctx: Context): Round {
  const dns = createDomainDns(ctx.config)
  return async () => {
    const due = await claimChecks(ctx, CHECKS_PER_ROUND)
    await inParallel(ctx, due, async ({ id, workspaceId }) => {
      const domain = await findDomain(ctx.db, workspaceId, id)
      if (domain === null) return
      const { kind, domain: now, notifications } = await verifyDomain(ctx, dns, domain)
      publishNotifications(ctx, notifications)
      if (now.status === domain.status) return
      ctx.log.info(
        { domain: now.domain, before: domain.status, status: now.status, found: kind },
        'domain status changed',
      )
    })
    return due.length === CHECKS_PER_ROUND
  }
}

export function createRegistrationRound(ctx: Context): Round {
  const deps = { dns: createDomainDns(ctx.config), outgoing: createHttpClient(ctx.config) }
  return async () => {
    const due = await claimRegistrations(ctx, BATCH)
    await inParallel(ctx, due, (domain) => updateRegistration(ctx, deps, domain))
    return due.length === BATCH
  }
}

export function createDomainRemovalRound(ctx: Context): Round {
  return async () => {
    const now = ctx.clock.now()
    const removals = await listDueRemovals(ctx.db, new Date(now), BATCH)
    for (const removed of removals) {
      const failed = await failQueuedMail(ctx, removed)
      if (failed > 0) ctx.log.info({ domain: removed.domain, failed }, 'queued mail of a removed domain failed')
      const lastMs = removed.removedAt.getTime() + AFTERMATH_MS
      await rescheduleRemoval(ctx.db, removed.domainId, now < lastMs ? new Date(lastMs) : null)
    }
    return removals.length === BATCH
  }
}

/** A failure does not affect the other items. */
async function inParallel<T>(ctx: Context, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(items.map(work))
  for (const result of results)
    if (result.status === 'rejected')
      ctx.log.warn({ err: result.reason as unknown }, 'domain check failed; it is retried')
}
