/**
 * The ready recipients of each site in Redis: adds them, claims them by tier, and makes them ready again.
 *
 * Within a tier, workspaces take turns. Each recipient gets a turn number, one more than the last of its workspace
 * and never less than the current turn, and the lowest number goes next. So a workspace with a million recipients and
 * one that arrives with a hundred alternate from then on. The cost is one hash field for each workspace that has
 * ready mail there.
 *
 * Each script touches one slot of a Redis Cluster. Recipients that a script removed and a dying process lost are
 * found again from PostgreSQL, and a recipient that is here twice is claimed there once: this file never decides that
 * a message is sent. Every function rejects while Redis is away.
 */
import {
  READY_CHANNEL,
  READY_OTHERS_CHANNEL,
  readyKey,
  SITES_KEY,
  turnsKey,
  workspaceOfMember,
} from '#src/queue/keys.ts'
import { defineReadyScripts, type ReadyScripts } from '#src/queue/ready-scripts.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { Redis } from '#src/stores/redis.ts'

/** Members in one call; the stack of a Lua script holds a few thousand. */
const MAX_ADDED = 1000

export interface ReadyEntry {
  readonly member: string
  readonly tier: Tier
}

/** How many recipients to claim: of the highest tier, and of all others together. */
export interface ClaimLimit {
  readonly instant: number
  readonly others: number
}

export interface ReadyQueue {
  /**
   * Makes recipients ready at their sites, behind other mail of their workspaces, and notifies the other outbound
   * processes.
   */
  addReady(bySite: ReadonlyMap<string, readonly ReadyEntry[]>): Promise<void>
  /** Claims ready recipients of a site, strictly by tier. */
  claim(site: string, limit: ClaimLimit): Promise<ReadyEntry[]>
  /** Makes claimed recipients ready again, ahead of all others. Notifies no process: the caller sends them later. */
  requeue(site: string, entries: readonly ReadyEntry[]): Promise<void>
  /** Sites that may have ready recipients. */
  listSites(): Promise<string[]>
  /** Removes an empty site from the list. A site that filled meanwhile stays. */
  dropSite(site: string): Promise<void>
}

export function createReadyQueue(redis: Redis): ReadyQueue {
  const scripts = defineReadyScripts(redis)
  return {
    addReady: (bySite) => addReady(scripts, bySite),
    claim: async (site, { instant, others }) => {
      const keys = TIER_NAMES.flatMap((tier) => keysOf(site, tier))
      const byTier = await scripts.claimReady(...keys, String(instant), String(others))
      return byTier.flatMap((members, rank) => members.map((member) => ({ member, tier: TIER_NAMES[rank] ?? 'bulk' })))
    },
    requeue: async (site, entries) => {
      await Promise.all(
        TIER_NAMES.flatMap((tier) => {
          const members = membersOf(entries, tier)
          return members.length === 0 ? [] : [scripts.requeueReady(...keysOf(site, tier), ...members)]
        }),
      )
      await redis.zadd(SITES_KEY, Date.now(), site)
    },
    listSites: () => redis.zrange(SITES_KEY, '0', '-1'),
    dropSite: async (site) => {
      await redis.zrem(SITES_KEY, site)
      const counts = await Promise.all(TIER_NAMES.map((tier) => redis.zcard(readyKey(site, tier))))
      if (counts.some((count) => count > 0)) await redis.zadd(SITES_KEY, Date.now(), site)
    },
  }
}

async function addReady(redis: ReadyScripts, bySite: ReadonlyMap<string, readonly ReadyEntry[]>): Promise<void> {
  const adding = [...bySite].flatMap(([site, entries]) =>
    TIER_NAMES.flatMap((tier) =>
      slicesOf(membersOf(entries, tier)).map((slice) =>
        redis.addReady(...keysOf(site, tier), ...argumentsByWorkspace(slice)),
      ),
    ),
  )
  // follows the scripts on the same connection, in the same turn of the event loop
  const pipeline = redis.pipeline()
  for (const [site, entries] of bySite) {
    const hasInstant = entries.some(({ tier }) => tier === 'instant')
    pipeline.zadd(SITES_KEY, Date.now(), site).publish(hasInstant ? READY_CHANNEL : READY_OTHERS_CHANNEL, site)
  }
  const [replies] = await Promise.all([pipeline.exec(), ...adding])
  const failure = replies?.find(([error]) => error !== null)?.[0]
  if (failure) throw failure
}

function keysOf(site: string, tier: Tier): [string, string] {
  return [readyKey(site, tier), turnsKey(site, tier)]
}

function membersOf(entries: readonly ReadyEntry[], tier: Tier): string[] {
  return entries.filter((entry) => entry.tier === tier).map(({ member }) => member)
}

function slicesOf(members: readonly string[]): (readonly string[])[] {
  const count = Math.ceil(members.length / MAX_ADDED)
  return Array.from({ length: count }, (_, i) => members.slice(i * MAX_ADDED, (i + 1) * MAX_ADDED))
}

function argumentsByWorkspace(members: readonly string[]): (string | number)[] {
  const byOwner = new Map<string, string[]>()
  for (const member of members) {
    const mine = byOwner.get(workspaceOfMember(member))
    if (mine === undefined) byOwner.set(workspaceOfMember(member), [member])
    else mine.push(member)
  }
  return [...byOwner].flatMap(([owner, mine]) => [owner, mine.length, ...mine])
}
