/**
 * Connected accounts of a workspace: SMTP credentials created here, mailboxes connected by a sign-in (`oauth.ts`); listed, changed, tested,
 * resumed, removed. No answer has a secret. The api opens no SMTP socket: a connection test is asked of the outbound process and waited for.
 *
 * Credentials go where their owner sent them and nowhere else: who changes the server or the user name gives the password again.
 */
import { isIP } from 'node:net'
import { z } from 'zod'
import { ACCOUNT_LIMITS } from '#config/oauth-providers.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { isReachable } from '#src/net/address-policy.ts'
import {
  changeAccount,
  countAccounts,
  createAccount,
  findAccount,
  listAccounts,
  MAX_ACCOUNTS,
  removeAccount,
  type Account,
  type SignIn,
} from '#src/providers/accounts.ts'
import { testAccount } from '#src/providers/connection-tests.ts'
import { resumeAccount } from '#src/providers/pause-account.ts'
import type { ApiContext } from '#api/http/context.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped, pageOf } from '#api/http/answer-shapes.ts'
import { accountFields, foldAccount, signInOf, type FoldedAccount } from './account-fields.ts'
import { accountShape, presentAccount, presentTest, testShape } from './account-view.ts'

export const ACCESS = { admin: 'accounts:manage' } as const
const byPath = z.object({ id: z.string() })
const one = enveloped(accountShape).meta({ id: 'AccountAnswer' })

const changeBody = accountFields.transform((given, sink): FoldedAccount =>
  foldAccount(given, (path, message) => sink.addIssue({ code: 'custom', path: [path], message })),
)

const REQUIRED = ['host', 'username', 'password'] as const

const createBody = changeBody
  .transform((folded, sink) => {
    for (const field of REQUIRED)
      if (folded[field] === undefined) sink.addIssue({ code: 'custom', path: [field], message: 'is required' })
    const signIn = signInOf(folded)
    const addresses = folded.addresses ?? addressOf(folded.username)
    if (addresses.length === 0)
      sink.addIssue({ code: 'custom', path: ['from'], message: 'is required where the user name is no address' })
    return signIn === null || addresses.length === 0
      ? z.NEVER
      : { name: folded.name, limits: folded.limits, signIn, addresses }
  })
  .meta({
    required: ['host', 'username', 'password'],
    examples: [
      {
        name: 'Office',
        host: 'smtp.example.com',
        port: 587,
        security: 'starttls',
        username: 'office@example.com',
        password: 'secret',
      },
    ],
  })

function addressOf(username = ''): string[] {
  const read = parseAddress(username)
  return read.ok ? [read.address.address.toLowerCase()] : []
}

const create = route({
  name: 'create-account',
  summary: 'Connect SMTP credentials; test them afterwards',
  method: 'POST',
  paths: ['/public/accounts'],
  access: ACCESS,
  body: createBody,
  status: 201,
  answer: one,
  errors: ['CONFLICT'],
  handle: async (ctx, { caller, body: { name, limits, signIn, addresses } }) => {
    const wrong = judgeServer(ctx, signIn)
    if (wrong !== null) return wrong
    const made = await createAccount(ctx, {
      ...signIn,
      workspaceId: caller.workspaceId,
      kind: 'smtp',
      provider: null,
      name: name ?? signIn.username,
      addresses,
      limits: { ...ACCOUNT_LIMITS, ...limits },
    })
    if (made.kind !== 'created')
      return refuse('CONFLICT', `A workspace has at most ${MAX_ACCOUNTS} connected accounts.`)
    return told('The account is connected.', made.account)
  },
})

const list = route({
  name: 'list-accounts',
  summary: 'The connected accounts of the workspace, the oldest first',
  method: 'GET',
  paths: ['/public/accounts'],
  access: ACCESS,
  query: paging,
  status: 200,
  errors: [],
  answer: pageOf('accounts', accountShape),
  handle: async (ctx, { caller: { workspaceId }, query }) => {
    const { page, limit } = query
    const [accounts, total] = await Promise.all([
      listAccounts(ctx.db, workspaceId, limit, (page - 1) * limit),
      countAccounts(ctx.db, workspaceId),
    ])
    const data = pageData('accounts', { items: accounts.map(presentAccount), total }, query)
    return { body: { success: true, message: `${total} connected accounts.`, data } }
  },
})

const get = route({
  name: 'get-account',
  summary: 'One connected account',
  method: 'GET',
  paths: ['/public/accounts/:id'],
  access: ACCESS,
  params: byPath,
  status: 200,
  answer: one,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const account = await ownAccount(ctx, caller.workspaceId, params.id)
    return account === null ? NO_ACCOUNT : told('The account is found.', account)
  },
})

const update = route({
  name: 'update-account',
  summary: 'Change name, addresses, limits, or with its password what it signs in with; new credentials end a pause',
  method: 'PATCH',
  paths: ['/public/accounts/:id'],
  access: ACCESS,
  params: byPath,
  body: changeBody,
  status: 200,
  answer: one,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    const account = await ownAccount(ctx, caller.workspaceId, params.id)
    if (account === null) return NO_ACCOUNT
    const read = signInFor(ctx, account, body)
    if (!read.ok) return read.refusal
    const { name, addresses, limits } = body
    if (addresses !== undefined && account.kind === 'oauth')
      return invalid([{ path: 'from', message: 'is whoever signed in at the provider' }])
    const changed = await changeAccount(ctx, account, { name, addresses, limits, signIn: read.signIn })
    return changed === null ? NO_ACCOUNT : told('The account is changed.', changed)
  },
})

const remove = route({
  name: 'delete-account',
  summary: 'Remove a connected account: its keys stop working at once, and its queued mail fails',
  method: 'DELETE',
  paths: ['/public/accounts/:id'],
  access: ACCESS,
  params: byPath,
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) =>
    isUuid(params.id) && (await removeAccount(ctx, caller.workspaceId, params.id)) ? {} : NO_ACCOUNT,
})

const test = route({
  name: 'test-account',
  summary: 'Connect, sign in and ask whether mail may come from its address; nothing is sent',
  method: 'POST',
  paths: ['/public/accounts/:id/test'],
  access: ACCESS,
  params: byPath,
  status: 200,
  answer: enveloped(testShape),
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { caller, params }) => {
    const account = await ownAccount(ctx, caller.workspaceId, params.id)
    if (account === null) return NO_ACCOUNT
    const result = await testAccount(ctx, account)
    if (result === null)
      return refuse('SERVICE_UNAVAILABLE', 'No outbound process made the test in time. Try again.', 5)
    const message = result.ok
      ? 'The account works.'
      : `It failed: ${result.steps.at(-1)?.detail ?? 'for no known reason'}`
    return { body: { success: true, message, data: presentTest(result) } }
  },
})

const resume = route({
  name: 'resume-account',
  summary: 'End the pause of an account with the credentials it has; what waits goes on',
  method: 'POST',
  paths: ['/public/accounts/:id/resume'],
  access: ACCESS,
  params: byPath,
  status: 200,
  answer: one,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const account = await ownAccount(ctx, caller.workspaceId, params.id)
    if (account === null || !(await resumeAccount(ctx, account))) return NO_ACCOUNT
    const now = await ownAccount(ctx, caller.workspaceId, account.id)
    return now === null ? NO_ACCOUNT : told('The account is active.', now)
  },
})

export const ACCOUNT_ROUTES: readonly AnyRoute[] = [create, list, get, update, remove, test, resume]

export const NO_ACCOUNT = refuse('NOT_FOUND', 'There is no such account.')

/** The account, if it is the workspace's own. */
export function ownAccount(ctx: ApiContext, workspaceId: string, id: string): Promise<Account | null> {
  return isUuid(id) ? findAccount(ctx.db, workspaceId, id) : Promise.resolve(null)
}

function told(message: string, account: Account): Answer {
  return { body: { success: true, message, data: presentAccount(account) } }
}

type ReadSignIn =
  | { readonly ok: true; readonly signIn: SignIn | undefined }
  | { readonly ok: false; readonly refusal: Refusal }

function signInFor(ctx: ApiContext, account: Account, body: FoldedAccount): ReadSignIn {
  const { host, port, security, username, password } = body
  if ([host, port, security, username, password].every((given) => given === undefined))
    return { ok: true, signIn: undefined }
  if (account.kind === 'oauth') return refused('', 'a mailbox over OAuth is connected again, not changed')
  if (password === undefined) return refused('password', 'is required to change what the account signs in with')
  const signIn = {
    host: host ?? account.host,
    port: port ?? account.port,
    security: security ?? account.security,
    username: username ?? account.username,
    secret: password,
  }
  const refusal = judgeServer(ctx, signIn)
  return refusal === null ? { ok: true, signIn } : { ok: false, refusal }
}

function refused(path: string, message: string): ReadSignIn {
  return { ok: false, refusal: invalid([{ path, message }]) }
}

/** What can be told without a look-up; the outbound process looks at the addresses themselves. */
function judgeServer({ config }: ApiContext, { host, security }: SignIn): Refusal | null {
  const allowed = config.allowPrivateTargets
  if (isIP(host) !== 0 && !isReachable(host, allowed))
    return invalid([{ path: 'host', message: 'is a private or reserved address' }])
  const isOutside = isIP(host) === 0 ? allowed.length === 0 : isReachable(host, [])
  if (security !== 'none' || !isOutside) return null
  const message = 'none is only possible inside of networks that the operator allows (ALLOW_PRIVATE_TARGETS)'
  return invalid([{ path: 'security', message }])
}
