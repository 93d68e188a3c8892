/**
 * Connected accounts of a workspace: SMTP credentials created here, and mailboxes connected by a sign-in
 * (`oauth.ts`). List, update, test, resume and remove them. No response contains a secret. The api opens no SMTP
 * connection: it asks the outbound process for a connection test and waits for the result.
 *
 * Credentials go only to the server their owner named: a request that changes the server or the user name must
 * contain the password.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import {
  changeAccount,
  findAccount,
  readAccounts,
  removeAccount,
  type Account,
  type AccountCredentials,
} from '#src/providers/accounts.ts'
import { testAccount, testNewCredentials } from '#src/providers/connection-tests.ts'
import { resumeAccount } from '#src/providers/pause-account.ts'
import type { ApiContext } from '#api/http/context.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, pagedList } from '#api/http/response-schemas.ts'
import {
  accountSchema,
  connectionTestSchema,
  presentAccount,
  presentConnectionTest,
  testedAccountSchema,
} from './account-view.ts'
import type { AccountInput } from './account-fields.ts'
import { changeBody, createSmtpAccount, newAccountBody, validateServer } from './new-account.ts'
import { countText } from '#src/platform/plural.ts'

export const ACCESS = { admin: 'accounts:manage' } as const
const byPath = z.object({ id: z.string() })
const accountResponse = envelope(accountSchema).meta({ id: 'AccountAnswer' })
const testedResponse = envelope(testedAccountSchema).meta({ id: 'TestedAccountAnswer' })

const create = route({
  name: 'create-account',
  summary: 'Connect an account by its SMTP credentials, and test it if an outbound process runs',
  method: 'POST',
  paths: ['/public/accounts'],
  access: ACCESS,
  body: newAccountBody,
  status: 201,
  response: testedResponse,
  errors: ['CONFLICT'],
  handle: async (ctx, { caller, body }) => {
    const account = await createSmtpAccount(ctx, caller.workspaceId, body)
    return isRefusal(account) ? account : respondWithTest(ctx, 'connected', account)
  },
})

const list = route({
  name: 'list-accounts',
  summary: 'List the connected accounts of the workspace, oldest first',
  method: 'GET',
  paths: ['/public/accounts'],
  access: ACCESS,
  query: paging,
  status: 200,
  errors: [],
  response: pagedList('accounts', accountSchema),
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'list-accounts', request)
    if (isRefusal(page)) return page
    const found = await readAccounts(ctx.db, request.caller.workspaceId, page)
    const data = pageData('accounts', mapPage(found, presentAccount), page)
    return { body: { success: true, message: `${countText(found.total, 'connected account')}.`, data } }
  },
})

const get = route({
  name: 'get-account',
  summary: 'Get a connected account',
  method: 'GET',
  paths: ['/public/accounts/:id'],
  access: ACCESS,
  params: byPath,
  status: 200,
  response: accountResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const account = await findOwnAccount(ctx, caller.workspaceId, params.id)
    return account === null ? NO_ACCOUNT : respondWithAccount('Account found.', account)
  },
})

const update = route({
  name: 'update-account',
  summary:
    'Update the name, addresses or limits; the credentials too, if the password is given; new credentials end a pause',
  method: 'PATCH',
  paths: ['/public/accounts/:id'],
  access: ACCESS,
  params: byPath,
  body: changeBody,
  status: 200,
  response: testedResponse,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    const account = await findOwnAccount(ctx, caller.workspaceId, params.id)
    if (account === null) return NO_ACCOUNT
    const signInChange = readSignInChange(ctx, account, body)
    if (!signInChange.ok) return signInChange.refusal
    const { name, addresses, limits } = body
    if (addresses !== undefined && account.kind === 'oauth')
      return invalid([{ path: 'from', message: 'cannot be changed: it is the address that signed in at the provider' }])
    const changed = await changeAccount(ctx, account, { name, addresses, limits, credentials: signInChange.signIn })
    if (changed === null) return NO_ACCOUNT
    if (signInChange.signIn !== undefined) return respondWithTest(ctx, 'updated', changed)
    return { body: { success: true, message: 'Account updated.', data: { ...presentAccount(changed), test: null } } }
  },
})

const remove = route({
  name: 'delete-account',
  summary: 'Delete a connected account: its keys stop working immediately, and its queued mail fails',
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
  summary: 'Test an account: connect, sign in and check that the server accepts its From address; nothing is sent',
  method: 'POST',
  paths: ['/public/accounts/:id/test'],
  access: ACCESS,
  params: byPath,
  status: 200,
  response: envelope(connectionTestSchema),
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { caller, params }) => {
    const account = await findOwnAccount(ctx, caller.workspaceId, params.id)
    if (account === null) return NO_ACCOUNT
    const result = await testAccount(ctx, account)
    if (result === null) return refuse('SERVICE_UNAVAILABLE', 'No outbound process ran the test in time. Try again.', 5)
    const message = result.ok
      ? 'The test succeeded.'
      : `The test failed: ${result.steps.at(-1)?.detail ?? 'unknown reason'}`
    return { body: { success: true, message, data: presentConnectionTest(result) } }
  },
})

const resume = route({
  name: 'resume-account',
  summary: 'Resume a paused account with its present credentials; its waiting mail is sent',
  method: 'POST',
  paths: ['/public/accounts/:id/resume'],
  access: ACCESS,
  params: byPath,
  status: 200,
  response: accountResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const account = await findOwnAccount(ctx, caller.workspaceId, params.id)
    if (account === null || !(await resumeAccount(ctx, account))) return NO_ACCOUNT
    const resumed = await findOwnAccount(ctx, caller.workspaceId, account.id)
    return resumed === null
      ? NO_ACCOUNT
      : respondWithAccount('The account is resumed. Its waiting mail is sent.', resumed)
  },
})

export const ACCOUNT_ROUTES: readonly AnyRoute[] = [create, list, get, update, remove, test, resume]

export const NO_ACCOUNT = refuse('NOT_FOUND', 'There is no such account. List them with list-accounts.')

/** The account, or null if it does not exist in this workspace. */
export function findOwnAccount(ctx: ApiContext, workspaceId: string, id: string): Promise<Account | null> {
  return isUuid(id) ? findAccount(ctx.db, workspaceId, id) : Promise.resolve(null)
}

function respondWithAccount(message: string, account: Account): ApiResponse {
  return { body: { success: true, message, data: presentAccount(account) } }
}

/** Tests the new credentials. They are stored in any case: the server may be away only now. */
async function respondWithTest(ctx: ApiContext, done: string, account: Account): Promise<ApiResponse> {
  const result = await testNewCredentials(ctx, account)
  const tested = (await findOwnAccount(ctx, account.workspaceId, account.id)) ?? account
  const failure = result?.steps.at(-1)
  const message =
    result === null
      ? `The account is ${done}, and not tested: no outbound process ran the test in time. Call test-account next.`
      : result.ok
        ? `The account is ${done}, and its test succeeded.`
        : `The account is ${done}, and does not work: its test failed at ${failure?.step}: ${failure?.detail}`
  const data = { ...presentAccount(tested), test: result === null ? null : presentConnectionTest(result) }
  return { body: { success: true, message, data } }
}

type SignInChange =
  | { readonly ok: true; readonly signIn: AccountCredentials | undefined }
  | { readonly ok: false; readonly refusal: Refusal }

function readSignInChange(ctx: ApiContext, account: Account, body: AccountInput): SignInChange {
  const { host, port, security, username, password } = body
  if ([host, port, security, username, password].every((given) => given === undefined))
    return { ok: true, signIn: undefined }
  if (account.kind === 'oauth')
    return invalidSignIn('', 'the credentials of an OAuth mailbox cannot be changed: connect it again')
  if (password === undefined) return invalidSignIn('password', 'is required to change the credentials')
  const signIn = {
    host: host ?? account.host,
    port: port ?? account.port,
    security: security ?? account.security,
    username: username ?? account.username,
    secret: password,
  }
  const refusal = validateServer(ctx, signIn)
  return refusal === null ? { ok: true, signIn } : { ok: false, refusal }
}

function invalidSignIn(path: string, message: string): SignInChange {
  return { ok: false, refusal: invalid([{ path, message }]) }
}
