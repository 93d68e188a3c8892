/**
 * Names of all Redis keys and channels, and of recipients as members of a sorted set. Hash tags put the keys of one
 * script in one slot, as a Redis Cluster would need. All of this data may be lost: PostgreSQL decides, Redis reminds.
 */
import { hexOf, idOfHex } from '#src/platform/id.ts'
import type { Tier } from './tiers.ts'

/** Scheduled recipients, score = due time (epoch ms). */
export function dueKey(tier: Tier): string {
  return `mailstead:{due}:${tier}`
}

/** A schedule of its own for a readiness check, in the slot of the others. */
export function probeDueKey(probe: string): string {
  return `mailstead:{due}:probe:${probe}`
}

/** Set after the schedule was built from PostgreSQL; missing or of another server = build it again. */
export const EPOCH_KEY = 'mailstead:{due}:epoch'

/** The progress of the refill that is under way, and the token of the worker that does it (refill-progress.ts). */
export const REFILL_KEY = 'mailstead:{due}:refill'
export const REFILL_OWNER_KEY = 'mailstead:{due}:refill:owner'

/** The highest counter and the highest fencing token that were committed (restore-fence.ts). */
export const FENCE_KEY = 'mailstead:fence'

/** Ready recipients by site; score = turn, so that workspaces are served fairly (mta/scheduling/ready-queue.ts). */
export function readyKey(site: string, tier: Tier): string {
  return `mailstead:{ready:${site}}:${tier}`
}

/** The last turn of each workspace at a site, and the current turn (`now`). */
export function turnsKey(site: string, tier: Tier): string {
  return `mailstead:{ready:${site}}:${tier}:turns`
}

/** Sites that have, or lately had, ready recipients; score = when something was last added. */
export const SITES_KEY = 'mailstead:sites'

/** The state of a site in each outbound process (site-state.ts). */
export function siteStateKey(site: string): string {
  return `mailstead:{site:${site}}`
}

/** Overdue recipients of suspended workspaces and campaigns, by tier (suspended-counts.ts). */
export const SUSPENDED_COUNTS_KEY = 'mailstead:suspended-counts'

/** Why the last attempts to a domain failed. */
export function domainFailureKey(domain: string): string {
  return `mailstead:{trouble:${domain}}`
}

/** The TLS level of a host with broken TLS. */
export function brokenTlsKey(host: string): string {
  return `mailstead:{tls:${host}}`
}

/** Published: a tier name, after recipients that are due now were added to it. */
export const DUE_CHANNEL = 'mailstead:due'
/** Published: a site, after recipients became ready there, instant mail among them. */
export const READY_CHANNEL = 'mailstead:ready'
/** Published: a site, after recipients of other tiers only became ready there. */
export const READY_OTHERS_CHANNEL = 'mailstead:ready-others'
/** Published: the workspaces with new events, separated by commas. */
export const EVENTS_CHANNEL = 'mailstead:events'
/** Published after a contact enters an automation, or after an event that one waits for. */
export const AUTOMATIONS_CHANNEL = 'mailstead:automations'
/** Published after webhook deliveries were stored. */
export const WEBHOOKS_CHANNEL = 'mailstead:webhooks'
/** Published: `<account> <test>`, while a request waits for the test of a connected account. */
export const ACCOUNT_TESTS_CHANNEL = 'mailstead:account-tests'
/** Published after a destination was suspended or resumed. */
export const SUSPENSIONS_CHANNEL = 'mailstead:suspensions'

/** Published after a reply suspended a receiver, or after it was resumed. */
export const SHAPING_CHANNEL = 'mailstead:shaping'

/** Published: the id of a requested dry run. */
export const DRY_RUN_CHANNEL = 'mailstead:dry-run'

const SUSPENDED_PREFIX = 'suspended:'

/** The site that holds the recipients of a suspended domain; no process claims from it. */
export function suspendedSite(domain: string): string {
  return `${SUSPENDED_PREFIX}${domain}`
}

/** The domain of such a site. */
export function domainOfSuspendedSite(site: string): string {
  return site.slice(SUSPENDED_PREFIX.length)
}

/** Between a site and the group of sources of its mail; in no host name and in no name of a pool. */
const GROUP_MARK = '|'

/** Where mail to a site is ready that only some processes can send; the others do not claim from it. */
export function groupSite(site: string, group: string): string {
  return `${site}${GROUP_MARK}${group}`
}

/** The site of such a name, and its group; null: every process may claim from it. */
export function parseGroupSite(name: string): { readonly site: string; readonly group: string | null } {
  const at = name.lastIndexOf(GROUP_MARK)
  return at < 0 ? { site: name, group: null } : { site: name.slice(0, at), group: name.slice(at + 1) }
}

export function isSuspendedSite(site: string): boolean {
  return site.startsWith(SUSPENDED_PREFIX)
}

/** A recipient in a sorted set. */
export interface ScheduleMember {
  readonly messageId: string
  readonly n: number
  /** An id, or the last twelve digits of one. */
  readonly workspaceId: string
  readonly domain: string
}

const WORKSPACE_DIGITS = 12

/**
 * The member for a recipient: `<message hex>:<n>:<workspace>:<domain>`. The domain saves a lookup before routing; the
 * workspace allows fair turns. Its last twelve digits suffice: two workspaces with the same digits share their turns.
 */
export function memberOf(recipient: ScheduleMember): string {
  const { messageId, n, workspaceId, domain } = recipient
  return `${hexOf(messageId)}:${n}:${workspaceId.slice(-WORKSPACE_DIGITS)}:${domain}`
}

/** SQL expression: the member for a row of recipients. */
export const MEMBER_SQL = `
  encode(uuid_send(message_id), 'hex') || ':' || n || ':' || right(workspace_id::text, ${WORKSPACE_DIGITS})
  || ':' || domain
`

/** Null for invalid text: the caller drops the entry and continues. */
export function parseMember(text: string): ScheduleMember | null {
  const parts = /^([0-9a-f]{32}):(\d{1,5}):([0-9a-f]{12}):(.+)$/.exec(text)
  if (parts?.[1] === undefined || parts[2] === undefined || parts[3] === undefined || parts[4] === undefined)
    return null
  return { messageId: idOfHex(parts[1]), n: Number(parts[2]), workspaceId: parts[3], domain: parts[4] }
}

/** The workspace of a member, without parsing the rest. */
export function workspaceOfMember(member: string): string {
  const at = member.indexOf(':', member.indexOf(':') + 1) + 1
  return member.slice(at, at + WORKSPACE_DIGITS)
}
