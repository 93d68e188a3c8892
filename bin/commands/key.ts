/** `mailstead key`: API keys. A secret key is shown when it is made and never again. */
import { type Actions, type Call, type Io, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { workspaceOf } from '#bin/cli/find-workspace.ts'
import { Trouble } from '#bin/supervisor/user-error.ts'
import { deactivateKey, type KeyRow, listKeys } from '#src/auth/key-list.ts'
import { createKey, type CreatedKey } from '#src/auth/keys.ts'
import { ALL_SCOPES, parseScopes, type KeyScope } from '#src/auth/scopes.ts'
import type { Context } from '#src/context.ts'
import { findDomain } from '#src/domains/domains.ts'
import { isUuid } from '#src/platform/id.ts'

const MAX_LISTED = 10_000

interface Order {
  readonly workspace: string
  readonly kind: 'admin' | 'regular'
  readonly scopes: readonly KeyScope[]
  readonly domain: string | null
  /** Of a regular key without a domain. */
  readonly account: string | null
  readonly name: string
  readonly expiresAt: Date | null
}

const FOREIGN = {
  domain: '--domain belongs to a regular key: an admin key does not send',
  account: '--account belongs to a regular key: an admin key does not send',
  scopes: '--scopes belong to an admin key: a regular key only sends',
} as const

const ACTIONS: Actions = {
  create: {
    usage:
      'create --workspace ID --type admin|regular [--scopes all|a,b] [--domain D | --account ID] [--name N] [--expires ISO]',
    options: ['workspace', 'type', 'scopes', 'domain', 'account', 'name', 'expires'],
    run: (call) => {
      const order = readOrder(call)
      return withContext(call.io, (ctx) => create(ctx, call, order))
    },
  },
  list: {
    usage: 'list [--workspace ID]',
    options: ['workspace'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const workspace = call.option('workspace')
        const rows = await listKeys(db, workspace === null ? null : (await workspaceOf(db, workspace)).id, MAX_LISTED)
        const text = tableText(
          ['ID', 'WORKSPACE', 'TYPE', 'STATE', 'LAST USED', 'MAY', 'NAME'],
          rows.map((row) => [
            row.id,
            row.workspaceId,
            row.kind,
            stateOf(row),
            row.lastUsedAt?.toISOString() ?? 'never',
            mayOf(row),
            row.name,
          ]),
        )
        return call.answer(
          text,
          rows.map((row) => ({
            id: row.id,
            workspace_id: row.workspaceId,
            type: row.kind,
            name: row.name,
            scopes: row.scopes,
            domain: row.domain,
            account: row.account,
            is_active: row.isActive,
            expires_at: row.expiresAt,
            last_used_at: row.lastUsedAt,
            created_at: row.createdAt,
          })),
        )
      }),
  },
  deactivate: {
    usage: 'deactivate ID',
    words: [1, 1],
    run: (call) => {
      const id = call.word(0)
      if (!isUuid(id))
        throw new UsageError(`${JSON.stringify(id)} is not the id of a key (mailstead key list shows them)`)
      return withContext(call.io, async ({ db }) => {
        if (!(await deactivateKey(db, id))) return call.fail(`There is no key ${id}. See mailstead key list.`)
        return call.answer(`The key ${id} is deactivated. It stops working now.`, { id, is_active: false })
      })
    },
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('key', ACTIONS, args, io)
}

function readOrder(call: Call): Order {
  const kind = call.required('type')
  if (kind !== 'admin' && kind !== 'regular') throw new UsageError('--type is admin or regular')
  const foreign = (kind === 'admin' ? (['domain', 'account'] as const) : (['scopes'] as const)).find(
    (option) => call.option(option) !== null,
  )
  if (foreign !== undefined) throw new UsageError(FOREIGN[foreign])
  const [domain, account] = [call.option('domain'), call.option('account')]
  if (kind === 'regular' && domain === null && account === null)
    throw new UsageError('--domain is missing (or --account)')
  if (domain !== null && account !== null) throw new UsageError('a key has one sender: --domain or --account')
  if (account !== null && !isUuid(account))
    throw new UsageError(`${JSON.stringify(account)} is not the id of an account (mailstead account list shows them)`)
  const scopes = parseScopes(call.option('scopes') ?? 'all')
  if (scopes === null) throw new UsageError(`--scopes is all, or some of ${ALL_SCOPES.join(',')}`)
  return {
    workspace: call.required('workspace'),
    kind,
    scopes,
    domain,
    account,
    name: call.option('name')?.trim() || (kind === 'admin' ? 'Admin key' : 'Sending key'),
    expiresAt: readExpiry(call.option('expires')),
  }
}

/** A time without an offset is UTC. */
function readExpiry(text: string | null): Date | null {
  if (text === null) return null
  const isIso = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(text)
  const date = new Date(/T[\d:.]+$/.test(text) ? `${text}Z` : text)
  if (!isIso || Number.isNaN(date.getTime()))
    throw new UsageError('--expires takes a time such as 2031-05-04T10:00:00Z')
  if (date.getTime() <= Date.now()) throw new UsageError('--expires lies in the past')
  return date
}

async function create({ db, config }: Context, call: Call, order: Order): Promise<number> {
  const workspace = await workspaceOf(db, order.workspace)
  const common = { prefix: config.keyPrefix, workspaceId: workspace.id, name: order.name, expiresAt: order.expiresAt }
  const key =
    order.kind === 'admin'
      ? await createKey(db, { ...common, kind: 'admin', scopes: order.scopes })
      : await createKey(db, { ...common, kind: 'regular', ...(await senderOf({ db }, workspace.id, order)) })
  if (key.kind !== 'created') return call.fail(explain(key))
  const text = `${order.kind === 'admin' ? 'Admin' : 'Sending'} key ${key.id}, shown this once:\n${key.secretKey}`
  return call.answer(text, {
    id: key.id,
    secret_key: key.secretKey,
    type: order.kind,
    workspace_id: workspace.id,
    name: order.name,
    ...(order.kind === 'admin'
      ? { scopes: order.scopes }
      : order.domain !== null
        ? { domain: order.domain }
        : { account_id: order.account }),
    expires_at: order.expiresAt,
    created_at: key.createdAt,
  })
}

async function senderOf(
  ctx: Pick<Context, 'db'>,
  workspaceId: string,
  { domain, account }: Order,
): Promise<{ domainId: string } | { accountId: string }> {
  return domain === null ? { accountId: account ?? '' } : { domainId: await domainIdOf(ctx, workspaceId, domain) }
}

async function domainIdOf({ db }: Pick<Context, 'db'>, workspaceId: string, text: string): Promise<string> {
  const domain = await findDomain(db, workspaceId, text)
  if (domain !== null) return domain.id
  throw new Trouble(
    `The workspace has no domain ${JSON.stringify(text)}. Add it: mailstead domain add --workspace ${workspaceId} ${text}`,
  )
}

function explain(refusal: Exclude<CreatedKey, { kind: 'created' }>): string {
  if (refusal.kind === 'too-many-admin-keys') {
    return `The workspace has ${refusal.max} admin keys, which is the most. Deactivate one first: mailstead key list, mailstead key deactivate ID`
  }
  if (refusal.kind === 'domain-not-verified') {
    const { domain, status } = refusal
    return (
      `The domain ${domain} is ${status}, not verified. Publish its records and run mailstead domain verify ${domain}, ` +
      'or add --trust if you know that it is yours.'
    )
  }
  if (refusal.kind === 'no-account') return 'The workspace has no such account. See mailstead account list.'
  return 'The workspace or the domain is gone.'
}

function stateOf(row: KeyRow): string {
  if (!row.isActive) return 'deactivated'
  return row.expiresAt !== null && row.expiresAt.getTime() <= Date.now() ? 'expired' : 'active'
}

function mayOf(row: KeyRow): string {
  if (row.kind === 'regular') return `send as ${row.domain ?? row.account ?? 'nobody'}`
  return row.scopes.length === ALL_SCOPES.length ? 'all' : row.scopes.join(',')
}
