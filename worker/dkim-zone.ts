/**
 * Publishes the changes of the zone with DKIM keys by the operator's command (DKIM_ZONE_COMMAND), and replaces keys by
 * schedule. Without a command the operator publishes the records, and a look at DNS finds when that is done. Nothing
 * depends on the order or on a single success: a key signs only once the domain's own check found it in DNS, so while
 * publishing fails the present key signs. The command has a time limit, few variables of the environment and no secret.
 */
import type { Context } from '#src/context.ts'
import { claimZoneChanges, type ClaimedChange, storePublished, storeUnpublished } from '#src/domains/dkim-zone.ts'
import { createDomainDns, type DomainDns } from '#src/domains/domain-dns.ts'
import { rotateDueKeys } from '#src/domains/rotation-schedule.ts'
import { runZoneCommand } from '#src/domains/zone-command.ts'
import type { Round } from './loop.ts'

/** Changes in one call of the command. They are of one zone: one that fails does not hold up the changes of others. */
const BATCH = 50

export function createDkimZoneRound(ctx: Context): Round {
  const dns = createDomainDns(ctx.config)
  return async () => {
    const changes = await claimZoneChanges(ctx, BATCH)
    if (changes.length > 0) await publish(ctx, dns, changes)
    return changes.length > 0
  }
}

export function createKeyScheduleRound(ctx: Context): Round {
  return async () => {
    const begun = await rotateDueKeys(ctx)
    if (begun > 0) ctx.log.info({ domains: begun }, 'DKIM key rotation by schedule began')
    return false
  }
}

async function publish(ctx: Context, dns: DomainDns, changes: readonly ClaimedChange[]): Promise<void> {
  const { dkimZoneCommand: command, dkimZoneTtlSeconds: ttl } = ctx.config
  if (command === null) return findPublished(ctx, dns, changes)
  const result = await runZoneCommand(command, changes, ttl)
  if (result.ok) {
    await storePublished(ctx.db, changes)
    ctx.log.info({ records: changes.length }, 'DKIM zone changed')
    return
  }
  await storeUnpublished(ctx, changes, result.problem)
  ctx.log.warn({ records: changes.length, problem: result.problem }, 'DKIM_ZONE_COMMAND failed; it is repeated')
}

const BY_HAND = 'DKIM_ZONE_COMMAND is not set: publish what "mailstead domain zone --pending" prints'

/** What the operator publishes by hand is found in DNS. */
async function findPublished(ctx: Context, dns: DomainDns, changes: readonly ClaimedChange[]): Promise<void> {
  const found = await Promise.all(changes.map((change) => isInDns(dns, change)))
  await storePublished(
    ctx.db,
    changes.filter((_, i) => found[i] === true),
  )
  const others = changes.filter((_, i) => found[i] !== true)
  if (others.length > 0) await storeUnpublished(ctx, others, BY_HAND)
}

async function isInDns(dns: DomainDns, { name, value }: ClaimedChange): Promise<boolean> {
  const answer = await dns.txt(name)
  if (answer.kind === 'failed') return false
  return value === null ? answer.records.length === 0 : answer.records.length === 1 && answer.records[0] === value
}
