/**
 * Names of everything Mailstead keeps in Redis. Hash tags keep the keys of one script in one slot, so that Redis Cluster works.
 * All of it can be lost: PostgreSQL decides, Redis reminds.
 */
import type { Tier } from './tiers.ts'

/** Recipients that wait for a time, score = due (epoch ms). */
export function dueKey(tier: Tier): string {
  return `mailstead:{due}:${tier}`
}

/** Set by whoever filled the schedule from PostgreSQL; gone or of another server = it must be filled again. */
export const EPOCH_KEY = 'mailstead:{due}:epoch'

/** The highest fencing token that was ever given out (restore-fence.ts). */
export const FENCE_KEY = 'mailstead:fence'

/** Recipients whose time has come, by site; score = turn, so that all workspaces are served alike (mta/scheduling/ready-queue.ts). */
export function readyKey(site: string, tier: Tier): string {
  return `mailstead:{ready:${site}}:${tier}`
}

/** Who had which turn last at a site, by workspace, and the turn that is on (`now`). */
export function turnsKey(site: string, tier: Tier): string {
  return `mailstead:{ready:${site}}:${tier}:turns`
}

/** Sites that have, or lately had, ready recipients; score = when something was last added. */
export const SITES_KEY = 'mailstead:sites'

/** What each outbound process says of a site (site-state.ts). */
export function siteStateKey(site: string): string {
  return `mailstead:{site:${site}}`
}

/** Why a domain could not be tried lately. */
export function domainFailureKey(domain: string): string {
  return `mailstead:{trouble:${domain}}`
}

/** How much of TLS a host can do, where that is less than usual. */
export function brokenTlsKey(host: string): string {
  return `mailstead:{tls:${host}}`
}

/** Published: a tier name, after recipients that are due now were added to it. */
export const DUE_CHANNEL = 'mailstead:due'
/** Published: a site, after recipients became ready there. */
export const READY_CHANNEL = 'mailstead:ready'
/** Published: the workspaces, with commas, that events were just stored for. */
export const EVENTS_CHANNEL = 'mailstead:events'
/** Published after somebody was enrolled in an automation, or has what it waits for. */
export const AUTOMATIONS_CHANNEL = 'mailstead:automations'
/** Published after webhook deliveries were stored. */
export const WEBHOOKS_CHANNEL = 'mailstead:webhooks'
/** Published: `<account> <test>`, while somebody waits for the test of a connected account. */
export const ACCOUNT_TESTS_CHANNEL = 'mailstead:account-tests'
/** Published after a destination was suspended or resumed. */
export const SUSPENSIONS_CHANNEL = 'mailstead:suspensions'

/** Published after a reply stopped a receiver, or somebody let it go again. */
export const SHAPING_CHANNEL = 'mailstead:shaping'

/** Published: the id of a dry run, after it was asked for. */
export const DRY_RUN_CHANNEL = 'mailstead:dry-run'

const SUSPENDED_PREFIX = 'suspended:'

/** The site where recipients of a suspended domain are kept; no process claims from it. */
export function suspendedSite(domain: string): string {
  return `${SUSPENDED_PREFIX}${domain}`
}

/** The domain of such a site. */
export function domainOfSuspendedSite(site: string): string {
  return site.slice(SUSPENDED_PREFIX.length)
}

export function isSuspendedSite(site: string): boolean {
  return site.startsWith(SUSPENDED_PREFIX)
}
