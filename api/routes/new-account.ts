/**
 * A new connected account with SMTP credentials: what the API and `mailstead account create` accept. A private server
 * is refused unless ALLOW_PRIVATE_TARGETS names its network, so that nobody reaches the services of the operator's
 * network through an account.
 */
import { isIP } from 'node:net'
import { z } from 'zod'
import { ACCOUNT_LIMITS } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { parseAddress } from '#src/mail/address.ts'
import { isReachable } from '#src/net/address-policy.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { type Account, type AccountCredentials, createAccount, MAX_ACCOUNTS } from '#src/providers/accounts.ts'
import { accountFields, parseAccountFields, toSignIn, type AccountInput } from './account-fields.ts'

export const changeBody = accountFields.transform((given, sink): AccountInput =>
  parseAccountFields(given, (path, message) => sink.addIssue({ code: 'custom', path: [path], message })),
)

const REQUIRED = ['host', 'username', 'password'] as const

export const newAccountBody = changeBody
  .transform((input, sink) => {
    for (const field of REQUIRED)
      if (input[field] === undefined) sink.addIssue({ code: 'custom', path: [field], message: 'is required' })
    const signIn = toSignIn(input)
    const addresses = input.addresses ?? addressesOfUsername(input.username)
    if (addresses.length === 0)
      sink.addIssue({ code: 'custom', path: ['from'], message: 'is required if the user name is not an email address' })
    return signIn === null || addresses.length === 0
      ? z.NEVER
      : { name: input.name, limits: input.limits, signIn, addresses }
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

function addressesOfUsername(username = ''): string[] {
  const parsed = parseAddress(username)
  return parsed.ok ? [parsed.address.address.toLowerCase()] : []
}

export type NewSmtpAccount = z.output<typeof newAccountBody>

/** Stores the account; it is not tested. Returns why it is refused. */
export async function createSmtpAccount(
  ctx: Pick<Context, 'config' | 'db' | 'encryption' | 'clock'>,
  workspaceId: string,
  { name, limits, signIn, addresses }: NewSmtpAccount,
): Promise<Account | Refusal> {
  const refusal = validateServer(ctx, signIn)
  if (refusal !== null) return refusal
  const created = await createAccount(ctx, {
    ...signIn,
    workspaceId,
    kind: 'smtp',
    provider: null,
    name: name ?? signIn.username,
    addresses,
    limits: { ...ACCOUNT_LIMITS, ...limits },
  })
  if (created.kind === 'created') return created.account
  return created.kind === 'too-many'
    ? refuse('CONFLICT', `A workspace has at most ${MAX_ACCOUNTS} connected accounts. Delete one first.`)
    : refuse('CONFLICT', 'The workspace was deleted meanwhile. Use a key of another workspace.')
}

/** Checks what needs no DNS lookup; the outbound process checks the resolved addresses. */
export function validateServer(
  { config }: Pick<Context, 'config'>,
  { host, security }: AccountCredentials,
): Refusal | null {
  const allowed = config.allowPrivateTargets
  if (isIP(host) !== 0 && !isReachable(host, allowed))
    return invalid([{ path: 'host', message: 'is a private or reserved address' }])
  const isPublicTarget = isIP(host) === 0 ? allowed.length === 0 : isReachable(host, [])
  if (security !== 'none' || !isPublicTarget) return null
  const message = 'none is possible only in networks that the operator allows (ALLOW_PRIVATE_TARGETS)'
  return invalid([{ path: 'security', message }])
}
