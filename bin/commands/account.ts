/**
 * `mailstead account`: the connected accounts to send through. A password is read from a file (or /dev/stdin), never
 * from an argument, which every user of the machine could read. The owner of an OAuth mailbox connects it: the command
 * prints the URL to sign in.
 */
import { readFileSync } from 'node:fs'
import { type CliActions, type CommandCall, type CommandIo, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import {
  ACCOUNT_LIMITS,
  loadOAuthProviders,
  SECURITIES,
  type OAuthProvider,
  type Security,
} from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { isUuid } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import {
  createAccount,
  findAccount,
  listAccounts,
  MAX_ACCOUNTS,
  removeAccount,
  type Account,
} from '#src/providers/accounts.ts'
import { testAccount } from '#src/providers/connection-tests.ts'
import { resumeAccount } from '#src/providers/pause-account.ts'
import { beginSignIn } from '#src/providers/sign-in.ts'

const MAX_LISTED = 10_000
const DEFAULT_PORTS: Readonly<Record<Security, string>> = { tls: '465', starttls: '587', none: '25' }

const ACTIONS: CliActions = {
  create: {
    usage:
      'create --workspace ID --host H --username U --password-file F [--port P] ' +
      `[--security ${SECURITIES.join('|')}] [--from a,b] [--name N]`,
    options: ['workspace', 'host', 'username', 'password-file', 'port', 'security', 'from', 'name'],
    run: (call) => {
      const order = readAccountOptions(call)
      return withContext(call.io, async (ctx) => {
        const workspace = await requireWorkspace(ctx.db, call.required('workspace'))
        const made = await createAccount(ctx, {
          ...order,
          workspaceId: workspace.id,
          kind: 'smtp',
          provider: null,
          limits: ACCOUNT_LIMITS,
        })
        if (made.kind === 'too-many') return call.fail(`The workspace has the maximum of ${MAX_ACCOUNTS} accounts.`)
        if (made.kind !== 'created') return call.fail('The workspace no longer exists.')
        const { account } = made
        const { id } = account
        const then = `mailstead key create --workspace ${workspace.id} --type regular --account ${id}`
        const text = `Account ${id} (${account.name}) is connected.\nNext: mailstead account test ${id}\nThen: ${then}`
        return call.respond(text, toJson(account))
      })
    },
  },
  connect: {
    usage: 'connect --workspace ID --provider P [--email E] [--name N], or connect --account ID',
    options: ['workspace', 'provider', 'email', 'name', 'account'],
    run: (call) => withContext(call.io, (ctx) => connect(ctx, call)),
  },
  test: {
    usage: 'test ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const result = await testAccount(ctx, await requireAccount(ctx.db, call.argument(0)))
        if (result === null)
          return call.fail('No outbound process ran the test in time. Check that mailstead mta runs.')
        const lines = result.steps.map(
          ({ step, ok, detail }) => `  ${ok ? 'ok    ' : 'FAILED'} ${step.padEnd(8)} ${detail}`,
        )
        call.respond(
          [result.ok ? 'The account works.' : 'The account does not work.', ...lines, '', result.conversation].join(
            '\n',
          ),
          result,
        )
        return result.ok ? 0 : 1
      }),
  },
  resume: {
    usage: 'resume ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const account = await requireAccount(ctx.db, call.argument(0))
        if (!(await resumeAccount(ctx, account))) return call.fail('The account was removed meanwhile.')
        const now = { ...toJson(account), status: 'active', paused_reason: null }
        return call.respond(`${account.name} is active. Its waiting mail is sent.`, now)
      }),
  },
  remove: {
    usage: 'remove ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const { id, name, workspaceId } = await requireAccount(ctx.db, call.argument(0))
        if (!(await removeAccount(ctx, workspaceId, id))) return call.fail('The account was removed meanwhile.')
        return call.respond(`${name} is removed. Its keys stop working, and its queued mail fails.`, {
          id,
          removed: true,
        })
      }),
  },
  list: {
    usage: 'list [--workspace ID]',
    options: ['workspace'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const workspace = call.option('workspace')
        const rows = await listAccounts(
          db,
          workspace === null ? null : (await requireWorkspace(db, workspace)).id,
          MAX_LISTED,
        )
        const text = tableText(
          ['ID', 'WORKSPACE', 'STATE', 'SERVER', 'USER', 'NAME'],
          rows.map((row) => [
            row.id,
            row.workspaceId,
            row.state,
            `${row.host}:${row.port} ${row.security}`,
            row.username,
            row.name,
          ]),
        )
        return call.respond(text, rows.map(toJson))
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('account', ACTIONS, args, io)
}

interface AccountOptions extends Pick<Account, 'name' | 'host' | 'port' | 'security' | 'username' | 'addresses'> {
  readonly secret: string
}

function readAccountOptions(call: CommandCall): AccountOptions {
  const username = call.required('username')
  const named = call.option('security') ?? (call.option('port') === '465' ? 'tls' : 'starttls')
  const security = SECURITIES.find((one) => one === named)
  if (security === undefined) throw new UsageError(`--security is one of ${SECURITIES.join(', ')}`)
  const port = Number(call.option('port') ?? DEFAULT_PORTS[security])
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UsageError('--port is a number from 1 to 65535')
  return {
    name: call.option('name')?.trim() || username,
    host: call.required('host').toLowerCase(),
    port,
    security,
    username,
    addresses: readAddresses(call.option('from') ?? username),
    secret: readPassword(call.required('password-file')),
  }
}

function readAddresses(text: string): string[] {
  return text.split(',').map((one) => {
    const read = parseAddress(one.trim())
    if (!read.ok) throw new UsageError(`--from: ${read.reason} (${JSON.stringify(one.trim())})`)
    return read.address.address.toLowerCase()
  })
}

function readPassword(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new UserError(`The password file cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function requireAccount(db: Queryable, id: string): Promise<Account> {
  const account = isUuid(id) ? await findAccount(db, null, id) : null
  if (account === null) throw new UserError(`No account ${id} exists. See mailstead account list.`)
  return account
}

async function connect(ctx: Context, call: CommandCall): Promise<number> {
  const again = call.option('account')
  const account = again === null ? null : await requireAccount(ctx.db, again)
  const workspaceId = account?.workspaceId ?? (await requireWorkspace(ctx.db, call.required('workspace'))).id
  const provider = requireProvider(ctx, account?.provider ?? call.required('provider'))
  const email = account?.username ?? call.option('email')?.toLowerCase() ?? null
  const begun = await beginSignIn(ctx, {
    workspaceId,
    provider,
    email,
    name: call.option('name'),
    accountId: account?.id ?? null,
  })
  const text = `Ask the owner of the mailbox to open this URL before ${begun.expiresAt.toISOString()}:\n${begun.url}`
  return call.respond(text, { authorize_url: begun.url, expires_at: begun.expiresAt })
}

function requireProvider({ config }: Context, name: string): OAuthProvider {
  const providers = loadOAuthProviders(config.oauthProvidersFile)
  const provider = providers.get(name)
  if (provider !== undefined) return provider
  const known = [...providers.keys()].join(', ') || 'none'
  throw new UserError(
    `No OAuth provider ${name} is configured; available: ${known} (docs/guides/connected-accounts.md).`,
  )
}

function toJson(account: Account): Record<string, unknown> {
  return {
    id: account.id,
    workspace_id: account.workspaceId,
    type: account.kind,
    provider: account.provider,
    name: account.name,
    host: account.host,
    port: account.port,
    security: account.security,
    username: account.username,
    addresses: account.addresses,
    status: account.state,
    paused_reason: account.pausedReason,
    created_at: account.createdAt,
  }
}
