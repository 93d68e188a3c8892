/**
 * Opens a session at the server of a connected account: resolves its host, negotiates TLS with a certificate that is
 * valid for the host name, and authenticates. It never falls back to plain text: an account without TLS is used only
 * inside networks that the operator allows (ALLOW_PRIVATE_TARGETS). If the server refuses a token that should be valid,
 * it is replaced once, immediately: the token may have been revoked, or the clocks differ.
 */
import { isIP, type LookupFunction } from 'node:net'
import type { Network } from '#config/settings/readers.ts'
import type { Security } from '#config/oauth-providers.ts'
import { createLogin, type Credential, type Login } from '#mta/smtp/login.ts'
import { openSession, type SessionSettings } from '#mta/smtp/open.ts'
import type { OpenFailure } from '#mta/smtp/result.ts'
import type { Session } from '#mta/smtp/session.ts'
import type { Wire } from '#mta/smtp/wire.ts'
import { formatReply, type Reply } from '#src/mail/reply.ts'
import { isReachable } from '#src/net/address-policy.ts'
import type { Account } from '#src/providers/accounts.ts'
import type { AccessTokenResult } from '#src/providers/access-tokens.ts'

export interface AccountSessionDeps {
  readonly settings: SessionSettings
  readonly lookup: LookupFunction
  readonly allowed: readonly Network[]
  /** Loads the credentials; `refused` is a token that the server has just refused. */
  readonly credential: (account: Account, refused: string | null) => Promise<CredentialResult>
  /** Runs after authentication; connection tests only. */
  readonly probe?: (wire: Wire) => Promise<unknown>
}

export type CredentialResult =
  | { readonly kind: 'credential'; readonly credential: Credential }
  | Exclude<AccessTokenResult, { kind: 'token' }>

export type AccountSessionResult =
  | {
      readonly kind: 'session'
      readonly session: Session
      readonly address: string
      readonly secrets: readonly string[]
    }
  /** The server refused the credentials. */
  | { readonly kind: 'refused'; readonly reply: Reply; readonly secrets: readonly string[] }
  /** No credentials are available now. */
  | Exclude<CredentialResult, { kind: 'credential' }>
  | AccountSessionFailure

interface AccountSessionFailure {
  readonly kind: 'failed'
  readonly reason: string
  readonly detail: string
  /** Null: there was no address to try. */
  readonly failure: OpenFailure | null
  readonly secrets: readonly string[]
}

const TLS: Readonly<Record<Security, SessionSettings['tls']>> = { tls: 'implicit', starttls: 'required', none: 'never' }
const MAX_ADDRESSES = 4

/** Appends the conversation to `lines`. */
export async function openAccountSession(
  deps: AccountSessionDeps,
  account: Account,
  lines: string[],
): Promise<AccountSessionResult> {
  const first = await openOnce(deps, account, null, lines)
  if (account.kind !== 'oauth' || first.opened.kind !== 'refused' || first.token === null) return first.opened
  lines.push('-- the server refused the token; trying once more with a new one')
  return (await openOnce(deps, account, first.token, lines)).opened
}

interface AccountAttempt {
  readonly opened: AccountSessionResult
  readonly token: string | null
}

async function openOnce(
  deps: AccountSessionDeps,
  account: Account,
  refused: string | null,
  lines: string[],
): Promise<AccountAttempt> {
  const found = await deps.credential(account, refused)
  if (found.kind !== 'credential') return { opened: found, token: null }
  const { credential } = found
  const token = credential.kind === 'token' ? credential.token : null
  const secrets = secretForms(credential)
  const resolved = await resolveHost(deps, account)
  if (!Array.isArray(resolved)) {
    lines.push(`-- ${resolved.detail}`)
    return { opened: { kind: 'failed', ...resolved, failure: null, secrets }, token }
  }
  const settings: SessionSettings = {
    ...deps.settings,
    tls: TLS[account.security],
    rejectUnauthorized: true,
    login: loginOf(deps, credential),
  }
  return { opened: await openFirstReachable({ settings, account, secrets }, resolved, lines), token }
}

function loginOf({ probe }: AccountSessionDeps, credential: Credential): Login {
  const signIn = createLogin(credential)
  if (probe === undefined) return signIn
  return async (wire, offers) => {
    const refused = await signIn(wire, offers)
    if (refused === null) await probe(wire)
    return refused
  }
}

interface AccountConnection {
  readonly settings: SessionSettings
  readonly account: Account
  readonly secrets: readonly string[]
}

async function openFirstReachable(
  connection: AccountConnection,
  addresses: readonly string[],
  lines: string[],
): Promise<AccountSessionResult> {
  const {
    settings,
    account: { host, port },
    secrets,
  } = connection
  let last: AccountSessionResult = {
    kind: 'failed',
    reason: 'dns',
    detail: `${host} has no public address`,
    failure: null,
    secrets,
  }
  for (const address of addresses.slice(0, MAX_ADDRESSES)) {
    const opened = await openSession({ host, address, port }, settings)
    if (opened.ok) return { kind: 'session', session: opened.session, address, secrets }
    const { failure } = opened
    for (const line of failure.transcript) lines.push(line)
    const { stage, reply } = failure
    if (stage === 'auth' && reply !== null && reply.code >= 500) return { kind: 'refused', reply, secrets }
    last = { kind: 'failed', ...failureOf(failure, `${host} [${address}]:${port}`), failure, secrets }
  }
  return last
}

function failureOf({ stage, reply, loss }: OpenFailure, where: string): { reason: string; detail: string } {
  if (reply !== null)
    return { reason: `${stage}-refused`, detail: `${where} refused at ${stage}: ${formatReply(reply)}` }
  return {
    reason: stage === 'connect' ? 'unreachable' : `${stage}-failed`,
    detail: `${where} at ${stage}: ${loss?.detail ?? 'no answer'}`,
  }
}

type ResolvedHost = string[] | { readonly reason: string; readonly detail: string }

/** The addresses that may be connected to, or why there is none. */
export async function resolveHost(
  deps: Pick<AccountSessionDeps, 'lookup' | 'allowed'>,
  account: Pick<Account, 'host' | 'security'>,
): Promise<ResolvedHost> {
  const { lookup, allowed } = deps
  const { host, security } = account
  const found = isIP(host) === 0 ? await addressesOf(lookup, host) : checkAddressLiteral(host, allowed)
  if (!Array.isArray(found)) return { reason: 'dns', detail: `the address of ${host} cannot be used: ${found}` }
  if (security !== 'none') return found
  const inside = found.filter((address) => !isReachable(address, []))
  if (inside.length > 0) return inside
  return {
    reason: 'plain-text',
    detail: `refused to authenticate at ${host} without TLS: it is outside ALLOW_PRIVATE_TARGETS`,
  }
}

function checkAddressLiteral(address: string, allowed: readonly Network[]): string[] | string {
  return isReachable(address, allowed) ? [address] : `${address} is a private or reserved address`
}

function addressesOf(lookup: LookupFunction, host: string): Promise<string[] | string> {
  return new Promise((resolve) => {
    lookup(host, { all: true }, (error, found) => {
      if (error !== null) resolve(error.message)
      else resolve(Array.isArray(found) ? found.map(({ address }) => address) : [found])
    })
  })
}

/** The secret in every form in which a server could repeat it in a reply. */
function secretForms(credential: Credential): string[] {
  const secret = credential.kind === 'token' ? credential.token : credential.password
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const { username } = credential
  return [
    secret,
    base64(secret),
    base64(`\0${username}\0${secret}`),
    base64(`user=${username}\x01auth=Bearer ${secret}\x01\x01`),
  ]
}

/** Shorter strings are not redacted: they would match ordinary text. */
const MIN_SECRET_LENGTH = 4

export function redactSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .reduce((hidden, secret) => hidden.replaceAll(secret, '********'), text)
}
