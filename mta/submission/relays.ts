/**
 * The sender of mail from a relay network, which needs no key: it may use every verified domain of its workspace. The
 * workspace and domains of a relay network are cached for a few seconds.
 */
import type { RelayNetwork } from '#config/settings/readers.ts'
import type { Context } from '#src/context.ts'
import { urgent } from '#src/stores/db.ts'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { isInNetwork } from '#src/net/address-policy.ts'
import { isWorkspaceSuspended } from '#src/queue/suspensions.ts'
import { domainOf, isSendingStatus, type SenderVerdict, type SubmissionSender } from '#src/submission/sender.ts'
import { findWorkspace } from '#src/workspaces/workspaces.ts'

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
      isSuspended: await isWorkspaceSuspended(ctx.db, id),
      destinationOf: (domain) => domain,
      authorizeFrom: (address) => verdicts.get(`${id} ${domainOf(address)}`, () => loadVerdict(id, domainOf(address))),
    }
  }

  async function loadVerdict(workspaceId: string, domain: string): Promise<SenderVerdict> {
    const {
      rows: [row],
    } = await ctx.db.query<{ id: string; status: string }>(FIND_DOMAIN, [workspaceId, domain])
    if (row === undefined) return { ok: false, reason: `${domain} is not a domain of this workspace` }
    return isSendingStatus(row.status)
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
