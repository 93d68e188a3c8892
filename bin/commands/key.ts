/** `mailstead key`: API keys. A secret key is shown only once, when it is created. */
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { lowerCaseLetters } from '#config/settings/readers.ts'
import { deactivateKey, findKeyOwner, type KeyRow, listKeys } from '#src/auth/key-list.ts'
import { parseNetwork } from '#src/auth/key-networks.ts'
import { replaceKeyPrefix, resolveKeyPrefix } from '#src/auth/key-prefix.ts'
import { createKey, type CreatedKey } from '#src/auth/keys.ts'
import { changeKey } from '#src/auth/managed-keys.ts'
import { ALL_SCOPES, parseScopes, wrongScopesText, type KeyScope } from '#src/auth/scopes.ts'
import type { Context } from '#src/context.ts'
import { findDomain } from '#src/domains/domains.ts'
import { isUuid } from '#src/platform/id.ts'
import { countText } from '#src/platform/plural.ts'

const MAX_LISTED = 10_000

interface KeyOptions {
  readonly workspace: string
  readonly kind: 'admin' | 'regular'
  readonly scopes: readonly KeyScope[]
  readonly domain: string | null
  /** The account of a regular key without a domain. */
  readonly account: string | null
  readonly name: string
  readonly expiresAt: Date | null
}

const INVALID_OPTIONS = {
  domain: '--domain is for regular keys only: an admin key does not send',
  account: '--account is for regular keys only: an admin key does not send',
  scopes: '--scopes is for admin keys only: a regular key only sends',
} as const

const ACTIONS: CliActions = {
  create: {
    summary: 'create an API key; the secret is shown once',
    examples: [
      'create --workspace Acme --type admin',
      'create --workspace Acme --type admin --scopes campaigns:read,contacts:read --name Reports',
      'create --workspace Acme --type regular --domain example.com',
    ],
    usage:
      'create --workspace ID --type admin|regular [--scopes all|a,b] [--domain D | --account ID] ' +
      '[--name N] [--expires ISO]',
    options: ['workspace', 'type', 'scopes', 'domain', 'account', 'name', 'expires'],
    run: (call) => {
      const order = readKeyOptions(call)
      return withContext(call.io, (ctx) => create(ctx, call, order))
    },
  },
  list: {
    summary: 'list API keys and when each was last used',
    examples: ['list', 'list --workspace Acme'],
    usage: 'list [--workspace ID]',
    options: ['workspace'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const workspace = call.option('workspace')
        const { items: rows } = await listKeys(
          db,
          workspace === null ? null : (await requireWorkspace(db, workspace)).id,
          { page: 1, limit: MAX_LISTED },
        )
        const text = tableText(
          ['ID', 'WORKSPACE', 'TYPE', 'STATE', 'LAST USED', 'PERMISSIONS', 'NAME'],
          rows.map((row) => [
            row.id,
            row.workspaceId,
            row.kind,
            formatState(row),
            row.lastUsedAt === null ? 'never' : timeText(row.lastUsedAt),
            formatPermissions(row),
            row.name,
          ]),
        )
        return call.respond(
          rows.length === 0 ? 'No API keys.' : text,
          rows.map((row) => ({
            id: row.id,
            workspace_id: row.workspaceId,
            type: row.kind,
            name: row.name,
            scopes: row.scopes,
            domain: row.domain,
            account: row.account,
            allowed_networks: row.allowedNetworks,
            is_active: row.isActive,
            expires_at: row.expiresAt,
            last_used_at: row.lastUsedAt,
            created_at: row.createdAt,
          })),
        )
      }),
  },
  deactivate: {
    summary: 'stop a key for good',
    examples: ['deactivate 01a2030f-9f42-7000-bd8c-d55ffa802841'],
    usage: 'deactivate ID',
    arguments: [1, 1],
    run: (call) => {
      const id = call.argument(0)
      if (!isUuid(id)) throw new UsageError(`${JSON.stringify(id)} is not a key id; see mailstead key list`)
      return withContext(call.io, async ({ db }) => {
        if (!(await deactivateKey(db, id))) return call.fail(`No key ${id} exists.`, 'See mailstead key list.')
        return call.respond(`The key ${id} is deactivated and stops working now.`, { id, is_active: false })
      })
    },
  },
  networks: {
    summary: 'set the networks that a key may be used from',
    examples: [
      'networks 01a2030f-9f42-7000-bd8c-d55ffa802841 --allow 192.0.2.0/24,2001:db8::/32',
      'networks 01a2030f-9f42-7000-bd8c-d55ffa802841 --anywhere',
    ],
    usage: 'networks ID (--allow CIDR,... | --anywhere)',
    options: ['allow'],
    flags: ['anywhere'],
    arguments: [1, 1],
    run: (call) => {
      const id = call.argument(0)
      if (!isUuid(id)) throw new UsageError(`${JSON.stringify(id)} is not a key id; see mailstead key list`)
      const networks = readAllowed(call)
      return withContext(call.io, async ({ db }) => {
        const workspaceId = await findKeyOwner(db, id)
        const changed =
          workspaceId === null
            ? null
            : await changeKey(db, { workspaceId, caller: null }, id, { allowedNetworks: networks })
        if (changed?.kind !== 'changed') return call.fail(`No valid key ${id} exists.`, 'See mailstead key list.')
        const where = networks.length === 0 ? 'everywhere' : networks.join(', ')
        return call.respond(`The key ${id} may be used from ${where}.`, { id, allowed_networks: networks })
      })
    },
  },
  prefix: {
    summary: 'change the prefix with which new keys begin',
    examples: ['prefix acme'],
    usage: 'prefix NAME',
    arguments: [1, 1],
    run: (call) => {
      const name = readPrefix(call.argument(0))
      return withContext(
        call.io,
        async ({ db }) => {
          await replaceKeyPrefix(db, name)
          const text =
            `New keys begin with ${name}. Keys that exist keep their prefix and stay valid. ` +
            `Set KEY_PREFIX=${name} wherever the setting is set, and restart Mailstead.`
          return call.respond(text, { prefix: name })
        },
        { acceptsKeyPrefix: true },
      )
    },
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('key', ACTIONS, args, io)
}

/** In canonical form; empty: everywhere. */
function readAllowed(call: CommandCall): string[] {
  const text = call.option('allow')
  if ((text === null) !== call.has('anywhere')) throw new UsageError('give either --allow or --anywhere')
  const parsed = (text ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(parseNetwork)
  return parsed.map((one) => {
    if (!one.ok) throw new UsageError(`--allow: a part ${one.reason}`)
    return one.text
  })
}

function readPrefix(text: string): string {
  try {
    return lowerCaseLetters(text)
  } catch {
    throw new UsageError('the prefix must be 1 to 32 lower-case letters')
  }
}

function readKeyOptions(call: CommandCall): KeyOptions {
  const kind = call.choice('type', ['admin', 'regular'])
  const foreign = (kind === 'admin' ? (['domain', 'account'] as const) : (['scopes'] as const)).find(
    (option) => call.option(option) !== null,
  )
  if (foreign !== undefined) throw new UsageError(INVALID_OPTIONS[foreign])
  const [domain, account] = [call.option('domain'), call.option('account')]
  if (kind === 'regular' && domain === null && account === null)
    throw new UsageError('--domain is missing (or --account)')
  if (domain !== null && account !== null)
    throw new UsageError('a key has one sender: give either --domain or --account')
  if (account !== null && !isUuid(account))
    throw new UsageError(`${JSON.stringify(account)} is not an account id; see mailstead account list`)
  const scopes = parseScopes(call.option('scopes') ?? 'all')
  if (scopes === null) throw new UsageError(`--scopes ${wrongScopesText(call.option('scopes') ?? '')}`)
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
    throw new UsageError('--expires must be a time such as 2031-05-04T10:00:00Z')
  if (date.getTime() <= Date.now()) throw new UsageError('--expires must be in the future')
  return date
}

async function create({ db, config }: Context, call: CommandCall, options: KeyOptions): Promise<number> {
  const workspace = await requireWorkspace(db, options.workspace)
  const common = {
    prefix: await resolveKeyPrefix(db, config),
    workspaceId: workspace.id,
    name: options.name,
    expiresAt: options.expiresAt,
  }
  const key =
    options.kind === 'admin'
      ? await createKey(db, { ...common, kind: 'admin', scopes: options.scopes })
      : await createKey(db, { ...common, kind: 'regular', ...(await resolveSender({ db }, workspace.id, options)) })
  if (key.kind !== 'created') return call.fail(...describeRefusal(key))
  const text = `${options.kind === 'admin' ? 'Admin' : 'Sending'} key ${key.id}, shown this once:\n${key.secretKey}`
  return call.respond(text, {
    id: key.id,
    secret_key: key.secretKey,
    type: options.kind,
    workspace_id: workspace.id,
    name: options.name,
    ...(options.kind === 'admin'
      ? { scopes: options.scopes }
      : options.domain !== null
        ? { domain: options.domain }
        : { account_id: options.account }),
    expires_at: options.expiresAt,
    created_at: key.createdAt,
  })
}

async function resolveSender(
  ctx: Pick<Context, 'db'>,
  workspaceId: string,
  { domain, account }: KeyOptions,
): Promise<{ domainId: string } | { accountId: string }> {
  return domain === null ? { accountId: account ?? '' } : { domainId: await requireDomainId(ctx, workspaceId, domain) }
}

async function requireDomainId({ db }: Pick<Context, 'db'>, workspaceId: string, text: string): Promise<string> {
  const domain = await findDomain(db, workspaceId, text)
  if (domain !== null) return domain.id
  throw new UserError(
    `The workspace has no domain ${JSON.stringify(text)}.`,
    `Add it: mailstead domain add --workspace ${workspaceId} ${text}`,
  )
}

function describeRefusal(refusal: Exclude<CreatedKey, { kind: 'created' }>): readonly [problem: string, next: string] {
  if (refusal.kind === 'too-many-admin-keys') {
    return [
      `The workspace has the maximum of ${countText(refusal.max, 'admin key')}.`,
      'Deactivate one first: mailstead key list, mailstead key deactivate ID',
    ]
  }
  if (refusal.kind === 'domain-not-verified') {
    const { domain, status } = refusal
    return [
      `The domain ${domain} is ${status}, not verified.`,
      `Publish its records and run mailstead domain verify ${domain}, or add --trust if you know that it is yours.`,
    ]
  }
  if (refusal.kind === 'no-account') return ['The workspace has no such account.', 'See mailstead account list.']
  return ['The workspace or the domain was removed meanwhile.', 'See mailstead domain list.']
}

function formatState(row: KeyRow): string {
  if (!row.isActive) return 'deactivated'
  return row.expiresAt !== null && row.expiresAt.getTime() <= Date.now() ? 'expired' : 'active'
}

function formatPermissions(row: KeyRow): string {
  if (row.kind === 'regular') return `send as ${row.domain ?? row.account ?? 'nobody'}`
  return row.scopes.length === ALL_SCOPES.length ? 'all' : row.scopes.join(',')
}
