/**
 * A session at the server of a connected account: its addresses, TLS with a certificate that is valid for its name, the sign-in. There is
 * no way back to plain text: an account without TLS is only used inside networks that the operator allows (ALLOW_PRIVATE_TARGETS).
 *
 * A token that the server refuses although it should be good is replaced once, at once: its clock may be another one, or it was withdrawn.
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
import type { Token } from '#src/providers/tokens.ts'

export interface AccountOpening {
  readonly settings: SessionSettings
  readonly lookup: LookupFunction
  readonly allowed: readonly Network[]
  /** What the account signs in with; `refused`: not with this token. */
  readonly credential: (account: Account, refused: string | null) => Promise<FoundCredential>
  /** Said after the sign-in; only of a test. */
  readonly probe?: (wire: Wire) => Promise<unknown>
}

export type FoundCredential =
  | { readonly kind: 'credential'; readonly credential: Credential }
  | Exclude<Token, { kind: 'token' }>

export type AccountOpened =
  | {
      readonly kind: 'session'
      readonly session: Session
      readonly address: string
      readonly secrets: readonly string[]
    }
  /** The server does not take the credentials. */
  | { readonly kind: 'refused'; readonly reply: Reply; readonly secrets: readonly string[] }
  /** There are no credentials now. */
  | Exclude<FoundCredential, { kind: 'credential' }>
  | Failed

interface Failed {
  readonly kind: 'failed'
  readonly reason: string
  readonly detail: string
  /** Null: there was no address to try. */
  readonly failure: OpenFailure | null
  readonly secrets: readonly string[]
}

const TLS: Readonly<Record<Security, SessionSettings['tls']>> = { tls: 'implicit', starttls: 'required', none: 'never' }
const MAX_ADDRESSES = 4

/** `lines`: the record of the conversation, to which it adds. */
export async function openAccount(parts: AccountOpening, account: Account, lines: string[]): Promise<AccountOpened> {
  const first = await openOnce(parts, account, null, lines)
  if (account.kind !== 'oauth' || first.opened.kind !== 'refused' || first.token === null) return first.opened
  lines.push('-- the token was not taken; trying once more with a new one')
  return (await openOnce(parts, account, first.token, lines)).opened
}

interface Once {
  readonly opened: AccountOpened
  readonly token: string | null
}

async function openOnce(
  parts: AccountOpening,
  account: Account,
  refused: string | null,
  lines: string[],
): Promise<Once> {
  const found = await parts.credential(account, refused)
  if (found.kind !== 'credential') return { opened: found, token: null }
  const { credential } = found
  const token = credential.kind === 'token' ? credential.token : null
  const secrets = secretsOf(credential)
  const resolved = await resolveHost(parts, account)
  if (!Array.isArray(resolved)) {
    lines.push(`-- ${resolved.detail}`)
    return { opened: { kind: 'failed', ...resolved, failure: null, secrets }, token }
  }
  const settings: SessionSettings = {
    ...parts.settings,
    tls: TLS[account.security],
    rejectUnauthorized: true,
    login: loginOf(parts, credential),
  }
  return { opened: await openAtFirst({ settings, account, secrets }, resolved, lines), token }
}

function loginOf({ probe }: AccountOpening, credential: Credential): Login {
  const signIn = createLogin(credential)
  if (probe === undefined) return signIn
  return async (wire, offers) => {
    const refused = await signIn(wire, offers)
    if (refused === null) await probe(wire)
    return refused
  }
}

interface Known {
  readonly settings: SessionSettings
  readonly account: Account
  readonly secrets: readonly string[]
}

async function openAtFirst(known: Known, addresses: readonly string[], lines: string[]): Promise<AccountOpened> {
  const {
    settings,
    account: { host, port },
    secrets,
  } = known
  let last: AccountOpened = { kind: 'failed', reason: 'dns', detail: `${host} has no address`, failure: null, secrets }
  for (const address of addresses.slice(0, MAX_ADDRESSES)) {
    const opened = await openSession({ host, address, port }, settings)
    if (opened.ok) return { kind: 'session', session: opened.session, address, secrets }
    const { failure } = opened
    for (const line of failure.transcript) lines.push(line)
    const { stage, reply } = failure
    if (stage === 'auth' && reply !== null && reply.code >= 500) return { kind: 'refused', reply, secrets }
    last = { kind: 'failed', ...explain(failure, `${host} [${address}]:${port}`), failure, secrets }
  }
  return last
}

function explain({ stage, reply, loss }: OpenFailure, where: string): { reason: string; detail: string } {
  if (reply !== null)
    return { reason: `${stage}-refused`, detail: `${where} refused at ${stage}: ${formatReply(reply)}` }
  return {
    reason: stage === 'connect' ? 'unreachable' : `${stage}-failed`,
    detail: `${where} at ${stage}: ${loss?.detail ?? 'no answer'}`,
  }
}

type Resolved = string[] | { readonly reason: string; readonly detail: string }

/** The addresses that may be reached, or why there is none. */
export async function resolveHost(
  parts: Pick<AccountOpening, 'lookup' | 'allowed'>,
  account: Pick<Account, 'host' | 'security'>,
): Promise<Resolved> {
  const { lookup, allowed } = parts
  const { host, security } = account
  const found = isIP(host) === 0 ? await addressesOf(lookup, host) : judgeLiteral(host, allowed)
  if (!Array.isArray(found)) return { reason: 'dns', detail: `the address of ${host} cannot be used: ${found}` }
  if (security !== 'none') return found
  const inside = found.filter((address) => !isReachable(address, []))
  if (inside.length > 0) return inside
  return {
    reason: 'plain-text',
    detail: `nobody signs in at ${host} without TLS: it is outside of the networks that are allowed`,
  }
}

function judgeLiteral(address: string, allowed: readonly Network[]): string[] | string {
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

/** In every form in which a server could say them back. */
function secretsOf(credential: Credential): string[] {
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

/** Shorter than any password, and it would blot out half of a text. */
const LEAST_SECRET = 4

export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter(({ length }) => length >= LEAST_SECRET)
    .reduce((hidden, secret) => hidden.replaceAll(secret, '********'), text)
}
