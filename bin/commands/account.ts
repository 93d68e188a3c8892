/**
 * `mailstead account`: the connected accounts to send through. A password is read from a file (or /dev/stdin), never
 * from an argument, which every user of the machine could read. The owner of an OAuth mailbox connects it: the command
 * prints the URL to sign in.
 */
import { readFileSync } from 'node:fs'
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'
import { parseWith } from '#api/http/request-reader.ts'
import { isRefusal } from '#api/http/response.ts'
import type { NewSmtpAccount } from '#api/routes/new-account.ts'
import { loadOAuthProviders, SECURITIES, type OAuthProvider } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import type { Detail } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { accountStatus, findAccount, listAccounts, removeAccount, type Account } from '#src/providers/accounts.ts'
import { testAccount, testNewCredentials, type TestResult } from '#src/providers/connection-tests.ts'
import { resumeAccount } from '#src/providers/pause-account.ts'
import { beginSignIn } from '#src/providers/sign-in.ts'

const MAX_LISTED = 10_000

const ACTIONS: CliActions = {
  create: {
    summary: 'connect an SMTP server to send through, and test it if an outbound process runs',
    examples: [
      'create --workspace Acme --host smtp.example.com --username office@example.com --password-file password.txt',
    ],
    usage:
      'create --workspace ID --host H --username U --password-file F [--port P] ' +
      `[--security ${SECURITIES.join('|')}] [--from a,b] [--name N]`,
    options: ['workspace', 'host', 'username', 'password-file', 'port', 'security', 'from', 'name'],
    run: async (call) => {
      const input = await readNewSmtpAccount(call)
      return withContext(call.io, async (ctx) => {
        const workspace = await requireWorkspace(ctx.db, call.required('workspace'))
        const made = await createFrom(ctx, workspace.id, input)
        const test = await testNewCredentials(ctx, made)
        const account = (await findAccount(ctx.db, workspace.id, made.id)) ?? made
        return call.respond(createdText(account, test), { ...toJson(account), test })
      })
    },
  },
  connect: {
    summary: 'print the URL at which the owner of an OAuth mailbox connects it',
    examples: ['connect --workspace Acme --provider google', 'connect --account 01a2030f-9f42-7000-bd8c-d55ffa802841'],
    usage: 'connect --workspace ID --provider P [--email E] [--name N], or connect --account ID',
    options: ['workspace', 'provider', 'email', 'name', 'account'],
    run: (call) => withContext(call.io, (ctx) => connect(ctx, call)),
  },
  test: {
    summary: 'connect and sign in to an account now',
    examples: ['test 01a2030f-9f42-7000-bd8c-d55ffa802841'],
    usage: 'test ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const result = await testAccount(ctx, await requireAccount(ctx.db, call.argument(0)))
        if (result === null)
          return call.fail(
            'No outbound process ran the test in time.',
            'Check that mailstead mta runs, then repeat it.',
          )
        call.respond(`${testText(result)}\n\n${result.conversation}`, result)
        return result.ok ? 0 : 1
      }),
  },
  resume: {
    summary: 'send through a paused account again',
    examples: ['resume 01a2030f-9f42-7000-bd8c-d55ffa802841'],
    usage: 'resume ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const account = await requireAccount(ctx.db, call.argument(0))
        if (!(await resumeAccount(ctx, account)))
          return call.fail('The account was removed meanwhile.', 'See mailstead account list.')
        const now = toJson({ ...account, state: 'active', pausedReason: null })
        return call.respond(`${account.name} is resumed. Its waiting mail is sent.`, now)
      }),
  },
  remove: {
    summary: 'remove an account; its keys stop working',
    examples: ['remove 01a2030f-9f42-7000-bd8c-d55ffa802841'],
    usage: 'remove ID',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const { id, name, workspaceId } = await requireAccount(ctx.db, call.argument(0))
        if (!(await removeAccount(ctx, workspaceId, id)))
          return call.fail('The account was removed meanwhile.', 'See mailstead account list.')
        return call.respond(`${name} is removed. Its keys stop working, and its queued mail fails.`, {
          id,
          removed: true,
        })
      }),
  },
  list: {
    summary: 'list the connected accounts',
    examples: ['list', 'list --workspace Acme'],
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
            accountStatus(row),
            `${row.host}:${row.port} ${row.security}`,
            row.username,
            row.name,
          ]),
        )
        return call.respond(rows.length === 0 ? 'No connected accounts.' : text, rows.map(toJson))
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('account', ACTIONS, args, io)
}

function testText({ ok, steps }: TestResult): string {
  const lines = steps.map((one) => `  ${one.ok ? 'ok    ' : 'FAILED'} ${one.step.padEnd(8)} ${one.detail}`)
  return [ok ? 'The account works.' : 'The account does not work.', ...lines].join('\n')
}

/** A new account is stored in any case: its server may be away only now. */
function createdText({ id, name, workspaceId }: Account, test: TestResult | null): string {
  const testIt = `mailstead account test ${id}`
  const result =
    test === null ? `It is not tested: no outbound process ran the test in time. Test it: ${testIt}` : testText(test)
  const next =
    test?.ok === false
      ? `Next: correct what failed at the server, then ${testIt}. ` +
        `To use other credentials, remove it (mailstead account remove ${id}) and create it again.`
      : `Next: mailstead key create --workspace ${workspaceId} --type regular --account ${id}`
  return `Account ${id} (${name}) is stored. ${result}\n${next}`
}

/** Validates the options as `POST /public/accounts` validates its fields. @throws UsageError */
async function readNewSmtpAccount(call: CommandCall): Promise<NewSmtpAccount> {
  const { newAccountBody } = await import('#api/routes/new-account.ts')
  const body = parseWith(newAccountBody, {
    host: call.required('host'),
    username: call.required('username'),
    password: readPassword(call.required('password-file')),
    port: call.option('port') === null ? null : Number(call.option('port')),
    security: call.option('security'),
    from: call.option('from'),
    name: call.option('name'),
  })
  if (!body.ok) throw new UsageError(optionsText(body.details))
  return body.value
}

/** Creates the account as the API does, with the same checks of the server. @throws UsageError, UserError */
async function createFrom(ctx: Context, workspaceId: string, input: NewSmtpAccount): Promise<Account> {
  const { createSmtpAccount } = await import('#api/routes/new-account.ts')
  const made = await createSmtpAccount(ctx, workspaceId, input)
  if (!isRefusal(made)) return made
  throw made.details === undefined ? UserError.of(made.message) : new UsageError(optionsText(made.details))
}

function optionsText(details: readonly Detail[]): string {
  return details
    .map(({ path, message }) => `--${path === 'password' ? 'password-file' : path.split('.')[0]} ${message}`)
    .join('; ')
}

function readPassword(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new UserError(`The password file cannot be read (${reasonOf(error)}).`, 'Check --password-file.')
  }
}

async function requireAccount(db: Queryable, id: string): Promise<Account> {
  const account = isUuid(id) ? await findAccount(db, null, id) : null
  if (account === null) throw new UserError(`No account ${id} exists.`, 'See mailstead account list.')
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
  const text = `Ask the owner of the mailbox to open this URL before ${timeText(begun.expiresAt)}:\n${begun.url}`
  return call.respond(text, { authorize_url: begun.url, expires_at: begun.expiresAt })
}

function requireProvider({ config }: Context, name: string): OAuthProvider {
  const providers = loadOAuthProviders(config.oauthProvidersFile)
  const provider = providers.get(name)
  if (provider !== undefined) return provider
  const known = [...providers.keys()].join(', ') || 'none'
  throw new UserError(
    `No OAuth provider ${name} is configured; available: ${known}.`,
    'Use one of them, or add it: docs/guides/connected-accounts.md',
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
    status: accountStatus(account),
    paused_reason: account.pausedReason,
    created_at: account.createdAt,
  }
}
