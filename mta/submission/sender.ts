/**
 * The sender of a submitted message: a Regular key, which may use its domain or connected account, or a relay network,
 * which may use every verified domain of its workspace. A degraded domain (its DNS records are gone) still sends. The
 * workspace and domains of a relay network are cached for a few seconds.
 */
import type { RelayNetwork } from '#config/settings/readers.ts'
import type { Caller, CallerAccount } from '#src/auth/keys.ts'
import type { Context } from '#src/context.ts'
import { urgent } from '#src/stores/db.ts'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { isInNetwork } from '#src/net/address-policy.ts'
import { destinationOf } from '#src/providers/account-destination.ts'
import { findWorkspace } from '#src/workspaces/workspaces.ts'

export interface SubmissionSender {
  readonly workspaceId: string
  readonly plan: string
  /** Null for a relay network. */
  readonly keyId: string | null
  /** Whether the sender may use this address as From, and the domain that signs. */
  authorizeFrom(address: string): SenderVerdict | Promise<SenderVerdict>
  /** The destination of mail to a domain: the domain itself or the connected account. */
  destinationOf(domain: string): string
}

/** `domainId` null: the provider of the connected account signs. */
export type SenderVerdict =
  | { readonly ok: true; readonly domainId: string | null }
  | { readonly ok: false; readonly reason: string }

const SENDING_STATUSES: ReadonlySet<string> = new Set(['verified', 'degraded'])

export function senderOfKey(caller: Caller): SubmissionSender {
  const { keyId, workspaceId, plan, account } = caller
  const who = { workspaceId, plan, keyId }
  if (account === null)
    return {
      ...who,
      authorizeFrom: (address) => authorizeByDomain(caller, domainOf(address)),
      destinationOf: (domain) => domain,
    }
  return {
    ...who,
    authorizeFrom: (address) => authorizeByAddress(account, address),
    destinationOf: () => destinationOf(account.id),
  }
}

function authorizeByDomain({ domain, domainId, domainStatus }: Caller, fromDomain: string): SenderVerdict {
  if (domain === null || domainId === null) return { ok: false, reason: 'This key is not bound to a sender' }
  if (fromDomain !== domain)
    return { ok: false, reason: `This key sends for ${domain} only, and From is in ${fromDomain}` }
  return SENDING_STATUSES.has(domainStatus ?? '')
    ? { ok: true, domainId }
    : { ok: false, reason: `The domain ${domain} is not verified` }
}

function authorizeByAddress({ addresses }: CallerAccount, address: string): SenderVerdict {
  const isIts = addresses.includes(address.toLowerCase())
  return isIts ? { ok: true, domainId: null } : { ok: false, reason: `This key sends for ${addresses.join(', ')} only` }
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

function describeWrongWorkspace(workspace: string, kind: 'none' | 'ambiguous'): string {
  const name = JSON.stringify(workspace)
  const [problem, fix] =
    kind === 'ambiguous'
      ? [`several workspaces are named ${name}.`, 'Use the id of one of them.']
      : [`no workspace named ${name} exists.`, 'Create it with `mailstead workspace create`, or correct the setting.']
  return `RELAY_NETWORKS: ${problem} ${fix}`
}

export interface Relays {
  /** The sender for a client address in a relay network; null if it is in none. */
  find(address: string): Promise<SubmissionSender | null>
}

const FIND_DOMAIN = urgent(
  'relay-domain',
  'SELECT id, verification_status AS status FROM domains WHERE workspace_id = $1 AND domain = $2',
)
const CACHE_LIMITS = { max: 10_000, ttlMs: 5000 }

/** `networks` in the operator's order: the first match counts. */
export function createRelays(ctx: Pick<Context, 'db' | 'clock' | 'log'>, networks: readonly RelayNetwork[]): Relays {
  const senders = createLoadingCache<SubmissionSender | null>(ctx.clock, CACHE_LIMITS)
  const verdicts = createLoadingCache<SenderVerdict>(ctx.clock, CACHE_LIMITS)

  async function loadSender(workspace: string): Promise<SubmissionSender | null> {
    const found = await findWorkspace(ctx.db, workspace)
    if (found.kind !== 'found') {
      ctx.log.warn({ workspace, found: found.kind }, describeWrongWorkspace(workspace, found.kind))
      return null
    }
    const { id, plan } = found.workspace
    return {
      workspaceId: id,
      plan,
      keyId: null,
      destinationOf: (domain) => domain,
      authorizeFrom: (address) => verdicts.get(`${id} ${domainOf(address)}`, () => loadVerdict(id, domainOf(address))),
    }
  }

  async function loadVerdict(workspaceId: string, domain: string): Promise<SenderVerdict> {
    const {
      rows: [row],
    } = await ctx.db.query<{ id: string; status: string }>(FIND_DOMAIN, [workspaceId, domain])
    if (row === undefined) return { ok: false, reason: `${domain} is not a domain of this workspace` }
    return SENDING_STATUSES.has(row.status)
      ? { ok: true, domainId: row.id }
      : { ok: false, reason: `The domain ${domain} is not verified` }
  }

  return {
    find: (address) =>
      senders.get(address, () => {
        const network = networks.find((one) => isInNetwork(address, one.network))
        return network === undefined ? Promise.resolve(null) : loadSender(network.workspace)
      }),
  }
}
