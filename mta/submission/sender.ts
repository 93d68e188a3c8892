/**
 * Who hands mail in, and in whose name: a Regular key, which speaks for its one domain or connected account, or a relay network, which
 * speaks for every verified domain of its workspace. A domain that lost its records (degraded) still sends. What is known of a relay's
 * workspace and domains is a few seconds old at most.
 */
import type { RelayNetwork } from '#config/settings/readers.ts'
import type { Caller, CallerAccount } from '#src/auth/keys.ts'
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { createKeptAnswers } from '#src/concurrency/loading-cache.ts'
import { isInNetwork } from '#src/net/address-policy.ts'
import { destinationOf } from '#src/providers/account-destination.ts'
import { findWorkspace } from '#src/workspaces/workspaces.ts'

export interface Sender {
  readonly workspaceId: string
  readonly plan: string
  /** Null for a relay network. */
  readonly keyId: string | null
  /** What signs mail from this address, or why it is not taken. */
  judge(address: string): Verdict | Promise<Verdict>
  /** Where mail to a domain goes: there, or through the account. */
  destinationOf(domain: string): string
}

/** `domainId` null: the account's provider signs. */
export type Verdict =
  | { readonly ok: true; readonly domainId: string | null }
  | { readonly ok: false; readonly reason: string }

const SENDING: ReadonlySet<string> = new Set(['verified', 'degraded'])

export function senderOfKey(caller: Caller): Sender {
  const { keyId, workspaceId, plan, account } = caller
  const who = { workspaceId, plan, keyId }
  if (account === null)
    return { ...who, judge: (address) => judgeByDomain(caller, domainOf(address)), destinationOf: (domain) => domain }
  return {
    ...who,
    judge: (address) => judgeByAddress(account, address),
    destinationOf: () => destinationOf(account.id),
  }
}

function judgeByDomain({ domain, domainId, domainStatus }: Caller, wanted: string): Verdict {
  if (domain === null || domainId === null) return { ok: false, reason: 'This key is not bound to a sender' }
  if (wanted !== domain) return { ok: false, reason: `This key sends for ${domain} only, and From is of ${wanted}` }
  return SENDING.has(domainStatus ?? '')
    ? { ok: true, domainId }
    : { ok: false, reason: `The domain ${domain} is not verified` }
}

function judgeByAddress({ addresses }: CallerAccount, address: string): Verdict {
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
  /** The workspace that an address may send for without logging in; null when it is in none of the networks. */
  find(address: string): Promise<Sender | null>
}

const FIND_DOMAIN = prepared(
  'relay-domain',
  'SELECT id, verification_status AS status FROM domains WHERE workspace_id = $1 AND domain = $2',
)
const FRESH = { max: 10_000, ttlMs: 5000 }

/** `networks` as the operator wrote them: the first that fits counts. */
export function createRelays(ctx: Pick<Context, 'db' | 'clock' | 'log'>, networks: readonly RelayNetwork[]): Relays {
  const senders = createKeptAnswers<Sender | null>(ctx.clock, FRESH)
  const verdicts = createKeptAnswers<Verdict>(ctx.clock, FRESH)

  async function loadSender(workspace: string): Promise<Sender | null> {
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
      judge: (address) => verdicts.find(`${id} ${domainOf(address)}`, () => loadVerdict(id, domainOf(address))),
    }
  }

  async function loadVerdict(workspaceId: string, domain: string): Promise<Verdict> {
    const {
      rows: [row],
    } = await ctx.db.query<{ id: string; status: string }>(FIND_DOMAIN, [workspaceId, domain])
    if (row === undefined) return { ok: false, reason: `${domain} is no domain of this workspace` }
    return SENDING.has(row.status)
      ? { ok: true, domainId: row.id }
      : { ok: false, reason: `The domain ${domain} is not verified` }
  }

  return {
    find: (address) =>
      senders.find(address, () => {
        const network = networks.find((one) => isInNetwork(address, one.network))
        return network === undefined ? Promise.resolve(null) : loadSender(network.workspace)
      }),
  }
}
