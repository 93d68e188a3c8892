/**
 * What sending domains need without anybody asking: their DNS is looked at when it is due, their registration is looked up, and the queued
 * mail of removed ones is failed. Any number of workers share the work by claims (`src/domains/due-checks.ts`); a domain whose look failed by a
 * fault of ours comes again when its claim has run out.
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
import type { LoopSpec } from './loop.ts'

const CHECK_EVERY_MS = 5000
const REGISTRATION_EVERY_MS = 15_000
const REMOVAL_EVERY_MS = 2000
/** At once. A look is up to some twenty questions to DNS, and takes long where a zone is slow on purpose: that must not hold back others. */
const CHECKS_PER_ROUND = 50
const BATCH = 10
/** A key may be taken for a few seconds after its domain is gone; what was accepted by then is failed too. */
const AFTERMATH_MS = 60_000

export function domainCheckLoop(ctx: Context): LoopSpec {
  const dns = createDomainDns(ctx.config)
  return {
    name: 'domain checks',
    everyMs: Math.min(CHECK_EVERY_MS, Math.max(500, CHECK_EVERY_MS * ctx.config.retryScale)),
    round: async () => {
      const due = await claimChecks(ctx, CHECKS_PER_ROUND)
      await inParallel(ctx, due, async ({ id, workspaceId }) => {
        const domain = await findDomain(ctx.db, workspaceId, id)
        if (domain === null) return
        const { kind, domain: now, notifications: news } = await verifyDomain(ctx, dns, domain)
        publishNotifications(ctx, news)
        if (now.status === domain.status) return
        ctx.log.info(
          { domain: now.domain, before: domain.status, status: now.status, found: kind },
          'the status of a domain changed',
        )
      })
      return due.length === CHECKS_PER_ROUND
    },
  }
}

export function registrationLoop(ctx: Context): LoopSpec {
  const deps = { dns: createDomainDns(ctx.config), outgoing: createHttpClient(ctx.config) }
  return {
    name: 'domain registrations',
    everyMs: REGISTRATION_EVERY_MS,
    round: async () => {
      const due = await claimRegistrations(ctx, BATCH)
      await inParallel(ctx, due, (domain) => updateRegistration(ctx, deps, domain))
      return due.length === BATCH
    },
  }
}

export function domainRemovalLoop(ctx: Context): LoopSpec {
  return {
    name: 'domain removals',
    everyMs: REMOVAL_EVERY_MS,
    round: async () => {
      const now = ctx.clock.now()
      const removals = await listDueRemovals(ctx.db, new Date(now), BATCH)
      for (const removed of removals) {
        const failed = await failQueuedMail(ctx, removed)
        if (failed > 0) ctx.log.info({ domain: removed.domain, failed }, 'queued mail of a removed domain failed')
        const lastMs = removed.removedAt.getTime() + AFTERMATH_MS
        await rescheduleRemoval(ctx.db, removed.domainId, now < lastMs ? new Date(lastMs) : null)
      }
      return removals.length === BATCH
    },
  }
}

/** One that fails does not keep the others. */
async function inParallel<T>(ctx: Context, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(items.map(work))
  for (const result of results)
    if (result.status === 'rejected')
      ctx.log.warn({ err: result.reason as unknown }, 'a domain could not be looked at; it comes again')
}
